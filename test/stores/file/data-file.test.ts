/** The data file: its layout to the byte, its checksum line, other layouts, and what is refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { systemMemory } from '../../../src/base/system.ts';
import { formatMembers, formatPet, MAX_PET_BYTES } from '../../../src/model/pet-text.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import {
  crcOfPets,
  readDataFile,
  dataFileText,
  type ReadDataFile,
} from '../../../src/stores/file/data-file.ts';
import { assertFloodRefused } from '../../support/disk/flooded-file.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';

const REX = '{"id":1,"name":"Rex","categoryId":7}';
const TOM = '{"id":2,"name":"Tom","categoryId":7,"status":"sold"}';
/** The CRC-32 of the text up to the bracket was worked out by another program. */
const CHECKSUM = '01111111110001101000111000010011'.replaceAll('0', ' ').replaceAll('1', '\t');
const ARRAY = `[\n${REX},\n${TOM}\n]`;

/** How many bytes the reader takes from the file at a time. */
const WINDOW = 1 << 15;
const LONG = REX.replace('Rex', 'n'.repeat(WINDOW));

test('A data file has one pet a line, and its CRC-32 in the whitespace of its last line', async () => {
  const table = tableOf([REX, TOM]);
  const text = `${ARRAY}\n${CHECKSUM}\n`;
  assert.equal(textOf(table), text);
  const [crc, arrayBytes] = [crc32(ARRAY), ARRAY.length];
  const sum = { crc: 0, arrayBytes: 0 };
  for (const _ of dataFileText(table, sum, 0));
  assert.deepEqual(sum, { crc, arrayBytes });
  const { found } = await load(text);
  assert.deepEqual(found, { crc, arrayCrc: crc, lastId: 2n, arrayBytes, hasChecksum: true });
  assert.equal(crcOfPets(table, 2n), crc);
  assert.equal(crcOfPets(table, 1n), crc32(`[\n${REX}\n]`));
});

test('A data file of no pets is an empty array with 32 random blanks and a checksum line', async () => {
  const text = textOf(new PetTable(), 4711);
  assert.match(text, /^\[\n[ \t]{32}\n\]\n[ \t]{32}\n$/);
  const { crc, hasChecksum } = (await load(text)).found;
  assert.deepEqual([crc, hasChecksum], [crc32(text.slice(0, 36)), true]);
  assert.notEqual(textOf(new PetTable(), 4712), text);
});

test('A data file of many blocks is read back and written again to the byte', async () => {
  const pets = Array.from({ length: 5000 }, (_, index) => {
    const name = index % 1000 === 3 ? 'é€😀'.repeat(150_000) : `Pet ${index}\0\ud800`;
    return formatPet(BigInt(index + 1), formatMembers({ name, categoryId: 1n }));
  });
  const text = textOf(tableOf(pets));
  assert.ok(textOf((await load(text)).table) === text);
});

const BOTH = [REX, TOM];
const SPACE = ' '.repeat(WINDOW);
const FAR = ['3', '9007199254740993', '9223372036854775807'].map((id) => REX.replace('1', id));
/** Files without a checksum line, and their pets. */
const FILES: Readonly<Record<string, readonly [text: string, pets: readonly string[]]>> = {
  'ends with a line end': [`${ARRAY}\n`, BOTH],
  'has no whitespace at its end': [ARRAY, BOTH],
  'ends with a few spaces and line ends': [`${ARRAY} \r\n  \r\n    \n`, BOTH],
  'begins with spaces': [`  ${ARRAY} \n`, BOTH],
  'has one line': [`[${REX},${TOM}]`, BOTH],
  'has much whitespace': [[SPACE, '[', SPACE, REX, SPACE, ',', TOM, SPACE, ']'].join(''), BOTH],
  'has whitespace everywhere': [
    ' \t\r\n[ { "id" : 1 , "name" : "Rex" , "categoryId" : 7 } , {\n"id"\t:2,"name":"Tom",' +
      '"categoryId":\r7,"status": "sold" }\t] \n',
    BOTH,
  ],
  'gives a member twice, of which the last one counts': [
    `[${REX.replace('"name"', '"name":"Tom","name"')},\n${TOM}]`,
    BOTH,
  ],
  'has gaps between its ids': [`[${FAR.join()}]`, FAR],
  'has a pet longer than a window': [`[${LONG}, ${TOM}]`, [LONG, TOM]],
};

for (const [what, [text, expected]] of Object.entries(FILES)) {
  test(`A file that ${what} is read, and has the CRC-32 of its text through the bracket`, async () => {
    const { found, pets } = await load(text);
    assert.deepEqual(pets, expected);
    const array = text.trimEnd();
    const { lastId: _, crc, ...rest } = found;
    const arrayCrc = crc32(array);
    assert.deepEqual(rest, { arrayCrc, arrayBytes: array.length, hasChecksum: false });
    // In any layout it is the data file of its pets.
    assert.equal(crc, pets.length === 0 ? arrayCrc : crc32(`[\n${pets.join(',\n')}\n]`));
  });
}

test('A file with a damaged checksum line is refused', async () => {
  for (const text of [
    `${ARRAY.replace('Rex', 'Tex')}\n${CHECKSUM}\n`,
    `${ARRAY}\n${CHECKSUM}`,
    `${ARRAY}\r\n${CHECKSUM}\r\n`,
    `${ARRAY}\n${CHECKSUM}\n${CHECKSUM}\n`,
    // The beginning of one with a tab in it, or with eight spaces; one whose tabs became spaces.
    `${ARRAY}\n${CHECKSUM.slice(0, 2)}`,
    `${ARRAY}\n${' '.repeat(8)}`,
    `${ARRAY}\n${' '.repeat(32)}\n`,
  ]) {
    await assertRefused(text, 'pets.json is damaged: Its content does not match its checksum line');
  }
});

test('A file that is not JSON is refused at the end of its pets in the canonical form', async () => {
  const NO_JSON = 'it is not valid JSON: ';
  for (const rest of ['', ',\n', ',\n{"id":2,"na']) {
    await assertRefused(`[\n${REX}${rest}`, `pets.json is damaged at byte 40: ${NO_JSON}`);
  }
  for (const rest of ['\nx', '\0']) {
    await assertRefused(ARRAY + rest, `pets.json is damaged at byte ${ARRAY.length}: ${NO_JSON}`);
  }
  const handmade = ['.5\n]', 'e5\n]', ',\n]', `${TOM}]`, ',\n7,]'].map(
    (rest) => `[\n${REX}${rest}`,
  );
  for (const text of ['[', `[${REX},{"id":2,"na`, `[\n${REX.replace('7', '07')}]`, ...handmade]) {
    const start = `pets.json is not a list of pets. It was left as it is:\n  ${NO_JSON}`;
    await assertRefused(text, start);
  }
  await assertRefused('', 'pets.json is damaged at byte 0: The file is empty');
  for (const text of [
    '{}',
    ' null',
    '<html>',
    `\ufeff${ARRAY}`,
    '\0[',
    ' ]',
    `{${ARRAY.slice(1)}`,
  ]) {
    await assertRefused(
      text,
      'pets.json is not a petstore data file, which is a JSON array of pets',
    );
  }
});

test('A byte that is not UTF-8 is refused at its offset, within the first window or not', async () => {
  for (const first of [REX, LONG]) {
    const array = Buffer.from(ARRAY.replace(REX, first).replace('Tom', 'é€😀 Tom Thomas'));
    const at = array.indexOf('Tom');
    for (const broken of ['ff', 'c3', 'e282', 'eda080', 'f4908080', 'efbf41']) {
      const text = Buffer.from(array);
      Buffer.from(broken, 'hex').copy(text, at);
      await assertRefused(text, `pets.json is damaged at byte ${at}: Not UTF-8`);
    }
  }
});

test('A pet has at most MAX_PET_BYTES, whatever follows it', async () => {
  const longest = REX.replace('Rex', 'n'.repeat(MAX_PET_BYTES - REX.length + 3));
  const tooLong = longest.replace('nnn', 'nnnn');
  const mistake = `pet 1: A pet has at most ${MAX_PET_BYTES} bytes`;
  const start = 'pets.json is not a list of pets. It was left as it is:\n  ';
  for (const rest of ['', `,\n${TOM}${SPACE}`]) {
    assert.equal((await load(`[${longest}${rest}]`)).pets[0], longest);
    await assertRefused(`[${tooLong}${rest}]`, start + mistake);
  }
  // The form in which the store writes it.
  await assertRefused(`[\n${tooLong}\n]`, start + mistake);
});

test('The ids of thousands of pets must ascend', async () => {
  const pets = Array.from({ length: 3000 }, (_, index) => LONG_NAMED.replace('1', `${index + 1}`));
  for (const index of [1, 2, 1023, 1024, 1025, 2000, 2999]) {
    const before = `[\n${pets.slice(0, index).join(',\n')}`;
    const text = `${before},\n${pets.slice(index - 1).join(',\n')}\n]\n${CHECKSUM}\n`;
    const mistake = `pet ${index + 1}: id ${index} does not come after ${index}`;
    await assertRefused(text, `pets.json is damaged at byte ${before.length + 2}: ${mistake}`);
  }
});

for (const [what, start, filler, at] of [
  ['a name without end', '[{"id":1,"name":"', 'x', 0],
  ['a field without end', `[\n${REX},\n{"id":2,"tag":[`, '[7],', 38],
] as const) {
  test(`Gigabytes of ${what} are refused in bounded memory`, () =>
    assertFloodRefused([start, filler], at, 512 << 20, (file, memory) =>
      readDataFile('pets.json', file, new PetTable(), memory),
    ));
}

test('A file is not called damaged if there is no memory for its pets, in either form', async () => {
  const error = new RangeError('Array buffer allocation failed');
  const pets = new PetTable();
  pets.append = pets.appendScanned = () => {
    throw error;
  };
  for (const text of [ARRAY, ARRAY.replaceAll(':', ': ')]) {
    await assert.rejects(load(text, pets), error);
  }
});

/** A pet of which a window has some thousand. */
const LONG_NAMED = REX.replace('Rex', 'x'.repeat(400));

function textOf(pets: PetTable, bits = 0): string {
  return Buffer.concat([...dataFileText(pets, { crc: 0, arrayBytes: 0 }, bits)]).toString();
}

function tableOf(texts: readonly string[]): PetTable {
  const table = new PetTable();
  for (const text of texts) {
    const id = BigInt(/^\{"id":([0-9]+)/.exec(text)![1]!);
    table.append({ id, text, status: undefined });
  }
  return table;
}

/** What was read of a file, and its pets as texts. */
async function load(
  content: string | Buffer,
  table: PetTable = new PetTable(),
): Promise<{ table: PetTable; found: ReadDataFile; pets: readonly string[] }> {
  const file = await createMemoryDisk({ 'pets.json': content }).open('pets.json', 'read');
  const found = await readDataFile('pets.json', file, table, systemMemory);
  return { table, found, pets: [...table.pets()].map(({ text }) => text) };
}

async function assertRefused(content: string | Buffer, start: string): Promise<void> {
  await assert.rejects(load(content), ({ message }: Error) => {
    assert.equal(message.slice(0, start.length), start);
    return true;
  });
}
