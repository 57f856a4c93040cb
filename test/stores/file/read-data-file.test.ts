/** Reading a data file: any JSON array of pets, damage, and what an import takes out. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { counted } from '../../../src/core/base/quote.ts';
import { systemClock } from '../../../src/core/base/system.ts';
import { MAX_PET_BYTES } from '../../../src/core/pets/pet-text.ts';
import { blanksOf } from '../../../src/core/store/format.ts';
import { readProvenCommits } from '../../../src/core/store/read-data-file.ts';
import { fileOf, line, linesOf, PATH, read } from '../../support/disk/data-files.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';

const KEY = '9f86d081884c7d659a2feaa0c55ad015';
const REX = line(1);
const TOM = '{"id":2,"name":"Tom","categoryId":7,"status":"sold"}';
const BOTH = [REX, TOM];
/** More than a window. */
const SPACE = ' '.repeat(1 << 17);
const LONG = line(1, 'n'.repeat(1 << 17));

const ARRAYS: Readonly<Record<string, readonly [text: string, lines: readonly string[]]>> = {
  'has line ends of Windows': [`[\r\n${REX},\r\n${TOM}\r\n]\r\n`, BOTH],
  'has blanks at the ends of its lines': [`[ \n${REX} \t\n,${TOM}   \n]  \n`, BOTH],
  'has braces, quotes and backslashes in a name': [
    `[${line(1, '}{"\\')}, ${TOM}]`,
    [line(1, '}{"\\'), TOM],
  ],
  'is in the layout of jq': [`${JSON.stringify(JSON.parse(`[${REX},${TOM}]`), null, 2)}\n`, BOTH],
  'has many blanks': [[SPACE, '[', SPACE, REX, SPACE, ',', TOM, SPACE, ']'].join(''), BOTH],
  'has its members in another order, and one twice, of which the last counts': [
    '[{"categoryId":7e0,"name":"Tom","id":1,"name":"R\\u0065x"}]',
    [REX],
  ],
  'has no pets in three lines': ['[\n\n]\n', []],
  'has a pet longer than a window': [`[\n${LONG},\n${TOM}\n]`, [LONG, TOM]],
};

for (const [what, [text, lines]] of Object.entries(ARRAYS)) {
  test(`An array is read if it ${what}`, async () => {
    const content = await read(text);
    assert.equal(content.form, 'array');
    assert.deepEqual(linesOf(content), lines);
  });
}

const NO_DATA_FILE = 'pets.json is not a petstore data file, which is a JSON array of pets';
const NO_LIST = 'pets.json is not a list of pets. It was left as it is:\n  ';
const NEITHER = 'behind pet 1, at byte 38 neither a pet nor the end of the array follows: a comma,';
const REFUSED: Readonly<Record<string, readonly [text: string | Buffer, start: string]>> = {
  'has a byte order mark': [`\ufeff[${REX}]`, NO_DATA_FILE],
  'begins with a zero': [`\0[${REX}]`, NO_DATA_FILE],
  'is UTF-16': [Buffer.from(`[${REX}]`, 'utf16le'), `${NO_LIST}at byte 0 neither`],
  'has a comma too many': [`[\n${REX},\n]`, `${NO_LIST}${NEITHER}`],
  'lacks a comma': [`[\n${REX}\n${TOM}\n]`, `${NO_LIST}${NEITHER}`],
  'has something behind it': [`[\n${REX}\n]\nx`, `${NO_LIST}${NEITHER}`],
  'has something else than a pet': [`[\n${REX},\n7]`, `${NO_LIST}${NEITHER}`],
  'has a pet that is not JSON': [`[${REX},{"id":2,}]`, `${NO_LIST}pet 2: it is not valid JSON: `],
  'has a brace in a name that does not end': [`[{"id":1,"name":"}]`, `${NO_LIST}at byte 0 neither`],
  'has a duplicate id': [`[\n${REX},\n${REX}\n]`, `${NO_LIST}pet 2: id 1 does not come after 1`],
  'has a malformed idempotency key': [
    `[${line(1, 'Rex', KEY.toUpperCase())}]`,
    `${NO_LIST}pet 1: idempotencyKey must be 32 hex digits`,
  ],
  'has a pet that is too long': [
    `[\n${line(1, 'n'.repeat(MAX_PET_BYTES))}\n]`,
    `${NO_LIST}pet 1: A pet has at most ${MAX_PET_BYTES} bytes`,
  ],
};

for (const [what, [text, start]] of Object.entries(REFUSED)) {
  test(`A file is refused if it ${what}`, () => assertRefused(text, start));
}

test('Mistakes in many pets are reported, up to twenty', async () => {
  await assert.rejects(read(`[${Array(30).fill('{}').join()}]`), ({ message }: Error) => {
    const lines = message.split('\n');
    assert.deepEqual([lines.length, lines.at(-1)], [22, '  and 10 more']);
    return true;
  });
});

test('A byte that is not UTF-8 is refused at its place, in any layout', async () => {
  for (const first of [REX, LONG]) {
    for (const layout of [`[\n${first},\n${TOM}\n]`, `[${first}, ${TOM}]`]) {
      const array = Buffer.from(layout.replace('Tom', 'é€😀 Tom Thomas'));
      const at = array.indexOf('Tom');
      for (const broken of ['ff', 'c3', 'e282', 'eda080', 'f4908080', 'efbf41']) {
        const text = Buffer.from(array);
        Buffer.from(broken, 'hex').copy(text, at);
        await assertRefused(text, `pets.json is damaged: byte ${at} is not UTF-8`);
      }
    }
  }
});

test('Ids may be missing if none has one, where ids are given', async () => {
  const text = '[{"name":"Rex","categoryId":7},\n{"name":"Tom","categoryId":7,"status":"sold"}]';
  assert.deepEqual(linesOf(await read(text, true)), BOTH);
  const later = text.replace('\n{', '\n{"id":2,');
  await assert.rejects(read(later, true), /pet 2: it has an id, and a pet before/);
});

test('Where ids are given, a mistake in the first pet is no mistake of the others', async () => {
  const first = '{"id":1,"name":7,"categoryId":1}';
  const mistake = `${NO_LIST}pet 1: name must be a string, not 7`;
  for (const invalid of [first, first.replace('"id":1,', '')]) {
    for (const others of [`${TOM},${line(3)}`, '{"name":"Tom","categoryId":7}']) {
      const text = `[${invalid},${others}]`;
      await assert.rejects(read(text, true), { message: mistake });
    }
  }
});

test("Release 2's checksum behind the bracket is compared, in any layout", async () => {
  for (const array of [`[\n${REX},\n${TOM}\n]`, `[${REX},${TOM}]`, `[\n${LONG},\n${TOM}\n]`]) {
    const sum = blanksOf(zlib.crc32(array));
    assert.equal((await read(`${array}\n${sum}\n`)).pets.length, 2);
    for (const wrong of [
      `${array}\n${sum}`,
      `${array}\n${sum}\n${sum}\n`,
      `${array}\n${sum.replace(/\t/g, ' ')}\n`,
      `${array}\n${sum.slice(0, 20)}`,
    ]) {
      await assertRefused(wrong, 'pets.json is damaged: its content does not match the checksum');
    }
  }
});

const LINES = [REX, TOM, line(3, 'Max'), line(4, 'x'.repeat(600)), line(5, 'Kim', KEY)];
const DEPS = { clock: systemClock };
const COMMITS = [[LINES[0]!], LINES.slice(1, 3), [LINES[3]!], [LINES[4]!]];

/** Where the damage begins, the ids that are proven before it and behind it, and the gaps. */
test('Damage is reported at its place, and all commits that their marks prove are taken out', async () => {
  const { bytes, ends } = fileOf(COMMITS);
  const [first = 0, second = 0, third = 0, last = 0] = ends;
  const text = bytes.toString('latin1');
  const size = text.length;
  for (const [changed, where, ids, gaps] of [
    [text.replace('Rex', 'Tex'), 'line 2, at byte 34', '|2345', [34, first]],
    [text.replace('Tom', 'Tim'), `line 3, at byte ${first}`, '1|45', [first, second]],
    [text.replace('Max', 'M\0x'), `line 3, at byte ${first}`, '1|45', [first, second]],
    // A mark proves the commit before it, and is where the next one begins.
    [change(bytes, second - 5), `line 3, at byte ${first}`, '1|5', [first, third]],
    [text.replace('xxx', 'xyx'), `line 5, at byte ${second}`, '123|5', [second, third]],
    [text.replace('Kim', 'Tim'), `line 6, at byte ${third}`, '1234|', [third, last]],
    [`${text}x`, `line 7, at byte ${last}`, '12345|', [last, size - 1]],
    [text.replace(`,${TOM}`, TOM), `line 3, at byte ${first}`, '1|45', [first, second - 1]],
    [
      text.replace('Rex', 'Tex').replace('xxx', 'xyx'),
      'line 2, at byte 34',
      '|235',
      [34, first, second, third],
    ],
    // Not damaged: the end of a commit, and of the file, may be missing.
    [text.slice(0, -50), undefined, '1234', [third, size - 52]],
    [text.slice(0, last - 1), undefined, '12345', []],
    [text, undefined, '12345', []],
  ] as const) {
    const content = Buffer.from(changed as string, 'latin1');
    const [before, after = ''] = ids.split('|') as [string, string?];
    if (where !== undefined) {
      await assertRefused(
        content,
        `pets.json is damaged: what begins in ${where}, is not as it was written. It was left as it ` +
          `is. Proven: ${counted(before.length, 'pet')} before it, and ${after.length} after it. `,
      );
    }
    assert.deepEqual(await takenOut(content), [before + after, gaps]);
  }
  const [blanks, advice] = ['the blanks of its first line were changed', 'what its marks prove'];
  for (const [start, refusal] of [
    ...['\t', '\n', '\r'].map((blank) => [`[${blank}`, `pets.json is damaged: ${blanks}`] as const),
    ['[x', `${NO_LIST}at byte 0 neither`],
    ['K ', NO_DATA_FILE],
  ] as const) {
    const content = Buffer.from(text.replace('[ ', start), 'latin1');
    await assertRefused(content, refusal, advice);
    assert.deepEqual(await takenOut(content), ['12345', []]);
  }
  for (const small of ['', '[]', `[${REX}]`]) {
    assert.deepEqual((await takenOut(Buffer.from(small)))[0], '');
  }
});

/** The ids that an import takes out of a damaged file, and the gaps between. */
async function takenOut(content: Buffer): Promise<readonly [ids: string, gaps: readonly number[]]> {
  const file = await createMemoryDisk({ [PATH]: content }).open(PATH, 'read');
  const gaps: number[] = [];
  const { pets, keys } = await readProvenCommits(PATH, file, DEPS, (start, end) => {
    gaps.push(start, end);
  });
  assert.equal(keys.find(KEY), pets.get(5n)?.id);
  return [[...pets.pets()].map(({ id }) => id).join(''), gaps];
}

test('A name with a brace and the right 32 blanks is no mark, where a crash has cut behind it', async () => {
  const { bytes, ends } = fileOf([[REX]]);
  const end = ends[0]!;
  for (const rest of ['', '\0']) {
    const start = Buffer.from(`,{"id":2,"name":"}`);
    const before = Buffer.concat([bytes.subarray(34, end), start]);
    const blanks = blanksOf(zlib.crc32(before));
    // The name goes on there, in the next sector.
    const tail = Buffer.concat([bytes.subarray(0, end), start, Buffer.from(`${blanks}${rest}`)]);
    const content = await read(tail).catch(() => undefined);
    assert.deepEqual(content === undefined ? [REX] : linesOf(content), [REX]);
  }
});

function change(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at] = changed[at] === 0x20 ? 0x09 : 0x20;
  return changed;
}

async function assertRefused(content: string | Buffer, start: string, end = ''): Promise<void> {
  await assert.rejects(read(content), ({ message }: Error) => {
    assert.equal(message.slice(0, start.length), start);
    assert.equal(message.endsWith(end), true, message);
    return true;
  });
}
