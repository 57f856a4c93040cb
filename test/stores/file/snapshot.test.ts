/** The snapshot: its layout to the byte, its checksum line, other layouts, and each mistake. */

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { systemMemory } from '../../../src/base/memory.ts';
import { formatMembers, formatPet, MAX_PET_BYTES } from '../../../src/model/pet-text.ts';
import { PetTable, type TablePet } from '../../../src/stores/table/pet-table.ts';
import {
  crcOfPets,
  readSnapshot,
  snapshotText,
  type ReadSnapshot,
} from '../../../src/stores/file/snapshot.ts';
import { countingMemory, floodedFile } from '../../support/disk/flooded-file.ts';
import { createMemoryDisk } from '../../support/disk/memory-disk.ts';

const REX = '{"id":1,"name":"Rex","categoryId":7}';
const TOM = '{"id":2,"name":"Tom","categoryId":7,"status":"sold"}';
/** The CRC-32 of the text up to the bracket was worked out by another program. */
const CHECKSUM = bits('01111111110001101000111000010011');
const ARRAY = `[\n${REX},\n${TOM}\n]`;

/** How many bytes the reader takes from the file at a time. */
const WINDOW = 1 << 19;

test('A snapshot has one pet a line, and its CRC-32 in the whitespace of its last line', () => {
  assert.equal(write([REX, TOM]), `${ARRAY}\n${CHECKSUM}\n`);
});

test('A snapshot of no pets is an empty array with 32 random blanks and a checksum line', async () => {
  const text = write([]);
  assert.match(text, /^\[\n[ \t]{32}\n\]\n[ \t]{32}\n$/);
  const { crc, hasChecksum } = (await load(text)).found;
  assert.deepEqual([crc, hasChecksum], [crc32(text.slice(0, 36)), true]);
  assert.notEqual(write([]), text);
});

test('The id of a snapshot is its CRC-32 through the bracket, with a checksum line or without', async () => {
  const table = tableOf([REX, TOM]);
  const sum = { crc: 0, arrayBytes: 0 };
  assert.equal(`${Buffer.concat([...snapshotText(table, sum, 0)])}`, `${ARRAY}\n${CHECKSUM}\n`);
  assert.deepEqual(sum, { crc: crc32(ARRAY), arrayBytes: ARRAY.length });
  assert.equal(crcOfPets(table, 2n), crc32(ARRAY));
  assert.equal(crcOfPets(table, 1n), crc32(`[\n${REX}\n]`));
  assert.deepEqual((await load(`${ARRAY}\n${CHECKSUM}\n`)).found, {
    crc: crc32(ARRAY),
    lastId: 2n,
    arrayBytes: ARRAY.length,
    hasChecksum: true,
  });
  assert.equal((await load(ARRAY)).found.hasChecksum, false);
  const [indented, long] = [`  ${ARRAY}`, ARRAY.replace('Rex', 'x'.repeat(3 * WINDOW))];
  for (const other of [indented, long]) {
    const { crc, arrayBytes } = (await load(`${other} \n`)).found;
    assert.deepEqual([crc, arrayBytes], [crc32(other), other.length]);
  }
});

test('A snapshot of many blocks is read back and written again to the byte', async () => {
  const pets = Array.from({ length: 5000 }, (_, index) => {
    const name = index % 1000 === 3 ? 'é€😀'.repeat(150_000) : `Pet ${index}\0\ud800`;
    return formatPet(BigInt(index + 1), formatMembers({ name, categoryId: 1n }));
  });
  const text = write(pets);
  const { table } = await load(text);
  assert.ok(textOf(table) === text);
});

const UNCHECKED: Readonly<Record<string, string>> = {
  'no checksum line': '\n',
  'no whitespace at all': '',
  'a few spaces and line ends': ' \r\n  \r\n    \n',
  'half a megabyte of whitespace': ' '.repeat(WINDOW + 7),
};

for (const [what, ending] of Object.entries(UNCHECKED)) {
  test(`A file that ends with ${what} has no checksum line`, async () => {
    const { pets, found } = await load(ARRAY + ending);
    assert.deepEqual([pets, found.hasChecksum], [[REX, TOM], false]);
  });
}

const UNLIKE = 'Its content does not match its checksum line';
const DAMAGED_CHECKSUMS: Readonly<Record<string, string>> = {
  'a changed letter': `${ARRAY.replace('Rex', 'Tex')}\n${CHECKSUM}\n`,
  'a checksum line that lost its last line feed': `${ARRAY}\n${CHECKSUM}`,
  'a checksum line with other line ends': `${ARRAY}\r\n${CHECKSUM}\r\n`,
  'two checksum lines': `${ARRAY}\n${CHECKSUM}\n${CHECKSUM}\n`,
  'the beginning of a checksum line, a tab in it': `${ARRAY}\n${CHECKSUM.slice(0, 2)}`,
  'the beginning of a checksum line, eight spaces of it': `${ARRAY}\n${' '.repeat(8)}`,
  'a checksum line whose tabs became spaces': `${ARRAY}\n${' '.repeat(32)}\n`,
};

for (const [what, text] of Object.entries(DAMAGED_CHECKSUMS)) {
  test(`A file with a checksum line is refused with ${what}`, () =>
    assertRefused(text, `pets.json is damaged: ${UNLIKE}`));
}

const layouts: Readonly<Record<string, string>> = {
  'in one line': `[${REX},${TOM}]`,
  'with whitespace everywhere':
    ' \t\r\n[ { "id" : 1 , "name" : "Rex" , "categoryId" : 7 } , {\n"id"\t:2,"name":"Tom",' +
    '"categoryId":\r7,"status": "sold" }\t] \n',
};

for (const [how, text] of Object.entries(layouts)) {
  test(`Starting data ${how} is read, and each pet takes its canonical form`, async () => {
    assert.deepEqual(await read(text), [REX, TOM]);
  });
}

test('Ids may have gaps, up to 2^63 - 1', async () => {
  const ids = ['3', '4', '9007199254740993', '9223372036854775806', '9223372036854775807'];
  const pets = ids.map((id) => REX.replace('1', id));
  assert.deepEqual(await read(`[${pets.join()}]`), pets);
});

const NO_LIST = 'is not a list of pets. It was left as it is:\n  ';
/** The mistake, the text of the file, where its other layout begins, and how the message begins. */
const refusals: readonly (readonly [string, string, number, string])[] = [
  ['an array cut off at once', '[', 0, 'it is not valid JSON: Unexpected end of JSON input'],
  ['an array cut off within a pet', `[${REX},{"id":2,"na`, 0, 'it is not valid JSON: Unterminated'],
  [
    'a line cut off within a pet',
    `[\n${REX},\n{"id":2,"na`,
    40,
    'it is not valid JSON: Unterminated',
  ],
  [
    'an array cut off after a pet',
    `[\n${REX}`,
    40,
    "it is not valid JSON: Expected ',' or ']' after",
  ],
  ['an array cut off after a comma', `[\n${REX},\n`, 40, 'it is not valid JSON: Unexpected end'],
  ['a fraction after a pet', `[\n${REX}.5\n]`, 40, 'it is not valid JSON: '],
  ['an exponent after a pet', `[\n${REX}e5\n]`, 40, 'it is not valid JSON: '],
  ['a comma after the last pet', `[\n${REX},\n]`, 40, 'it is not valid JSON: Unexpected token'],
  ['no comma', `[\n${REX}${TOM}]`, 40, "it is not valid JSON: Expected ',' or ']' after"],
  [
    'something after the array',
    `${ARRAY}\nx`,
    ARRAY.length,
    'it is not valid JSON: Unexpected non-',
  ],
  [
    'a zero byte after the array',
    `${ARRAY}\0`,
    ARRAY.length,
    'it is not valid JSON: Unexpected non-',
  ],
  ['an element that is not a pet', `[\n${REX},\n7]`, 40, 'pet 2: Expected a pet but got 7'],
  [
    'an object in a pet',
    `[${REX.replace('7', '{}')}]`,
    0,
    'pet 1: categoryId must be an integer of 64 bit',
  ],
  [
    'another field',
    `[\n${REX.replace('7', '7,"a":{"b":"}"}')}\n]`,
    0,
    'pet 1: "a" is no field of a Pet',
  ],
  [
    'a pet that is not JSON',
    `[\n${REX.replace('7', '07')}]`,
    0,
    'it is not valid JSON: Unexpected number',
  ],
  ['an id twice', `[\n${REX},\n${REX}]`, 40, 'pet 2: id 1 does not come after 1: ids must'],
  ['an id that goes back', `[${TOM},${REX}]`, 0, 'pet 2: id 1 does not come after 2'],
  [
    'a pet that is too long',
    `[${REX.replace('Rex', 'x'.repeat(MAX_PET_BYTES))}]`,
    0,
    `pet 1: A pet has at most ${MAX_PET_BYTES} bytes`,
  ],
];

for (const [what, text, at, mistake] of refusals) {
  test(`A file with ${what} is refused`, () => {
    const start = at === 0 ? NO_LIST : `is damaged at byte ${at}: `;
    return assertRefused(text, `pets.json ${start}${mistake}`);
  });
}

test('An empty file is refused', () =>
  assertRefused('', 'pets.json is damaged at byte 0: The file is empty'));

for (const text of ['{}', ' null', '<html>', `\ufeff${ARRAY}`, '\0[', `{${ARRAY.slice(1)}`]) {
  test(`A file that begins with ${text} is called another kind of file`, async () => {
    await assert.rejects(load(text), {
      name: 'Error',
      message:
        'pets.json is not a petstore data file, which is a JSON array of pets in UTF-8 without a ' +
        'byte order mark. It was left as it is. Name another file, or put it back from a backup',
    });
  });
}

test('Of a member that is given twice, the last one counts', async () => {
  const text = `[${REX.replace('"name"', '"name":"Tom","name"')},\n${TOM}]`;
  assert.deepEqual(await read(text), [REX, TOM]);
});

test('A byte that is not UTF-8 is refused at its offset', async () => {
  const name = 'é€😀 Tom Thomas';
  const array = Buffer.from(ARRAY.replace('Tom', name));
  const at = array.indexOf('Tom');
  for (const broken of ['ff', 'c3', 'e282', 'eda080', 'f4908080', 'efbf41']) {
    const text = Buffer.from(array);
    Buffer.from(broken, 'hex').copy(text, at);
    await assertRefused(text, `pets.json is damaged at byte ${at}: Not UTF-8`);
  }
});

test('A pet may be longer than the window of the reader', async () => {
  for (const size of [WINDOW - 50, 2 * WINDOW - 30]) {
    const long = REX.replace('Rex', 'n'.repeat(size));
    const pretty = TOM.replace('{', '{\n').replace('Tom', '\\u0074'.repeat(size / 6));
    const last = TOM.replace('2', '3');
    const found = await read(`[${long}, ${pretty},\n${last}]`);
    assert.deepEqual([found[0] === long, found[2]], [true, last]);
    assert.ok(nameIn(found[1]!) === nameIn(pretty));
  }
});

test('A pet has at most MAX_PET_BYTES, whatever follows it', async () => {
  const longest = REX.replace('Rex', 'n'.repeat(MAX_PET_BYTES - REX.length + 3));
  assert.equal(longest.length, MAX_PET_BYTES);
  const tooLong = longest.replace('nnn', 'nnnn');
  for (const rest of ['', `,\n${TOM}${' '.repeat(WINDOW)}`]) {
    assert.equal((await read(`[${longest}${rest}]`))[0], longest);
    await assertRefused(
      `[${tooLong}${rest}]`,
      `pets.json ${NO_LIST}pet 1: A pet has at most ${MAX_PET_BYTES} bytes`,
    );
  }
});

for (const [what, start, filler, at] of [
  ['a name without end', '[{"id":1,"name":"', 'x', 0],
  ['a field without end', `[\n${REX},\n{"id":2,"tag":[`, '[7],', 38],
] as const) {
  test(`Gigabytes of ${what} are refused in bounded memory`, async () => {
    const { memory, most } = countingMemory();
    const file = floodedFile(Buffer.from(start), Buffer.from(filler), 5e9);
    await assert.rejects(readSnapshot('pets.json', file, new PetTable(), memory), {
      name: 'DamagedFileError',
      message: new RegExp(`^pets.json is damaged at byte ${at}: `),
    });
    assert.ok(most() <= 512 << 20, `${most()} bytes`);
  });
}

for (const [what, text] of [
  ['canonical', ARRAY],
  ['other', ARRAY.replaceAll(':', ': ')],
] as const) {
  test(`A file is not called damaged if there is no memory for its pets, in ${what} form`, async () => {
    const error = new RangeError('Array buffer allocation failed');
    const pets = new PetTable();
    pets.append = pets.appendScanned = () => {
      throw error;
    };
    await assert.rejects(load(text, pets), error);
  });
}

test('The ids of thousands of pets must ascend', async () => {
  const pets = Array.from({ length: 3000 }, (_, index) => REX.replace('1', `${index + 1}`));
  for (const index of [1, 2, 1023, 1024, 1025, 2000, 2999]) {
    const before = `[\n${pets.slice(0, index).join(',\n')}`;
    const text = `${before},\n${pets.slice(index - 1).join(',\n')}\n]`;
    const mistake = `pet ${index + 1}: id ${index} does not come after ${index}`;
    await assertRefused(text, `pets.json is damaged at byte ${before.length + 2}: ${mistake}`);
  }
});

test('Whitespace may be longer than the window of the reader', async () => {
  const space = ' '.repeat(WINDOW);
  assert.deepEqual(await read(`${space}[${space}${REX}${space},${space}${TOM}${space}]${space}`), [
    REX,
    TOM,
  ]);
});

test('The offset of a mistake counts from the start of the file', async () => {
  const start = `[\n${REX.replace('Rex', 'n'.repeat(WINDOW))}`;
  const text = `${start},\n${REX}\n]`;
  const mistake = 'pet 2: id 1 does not come after 1';
  await assertRefused(text, `pets.json is damaged at byte ${start.length + 2}: ${mistake}`);
  const broken = Buffer.from(`${start},\n${TOM}\n]`);
  const at = start.length + 2 + TOM.indexOf('Tom');
  broken[at] = 0xff;
  await assertRefused(broken, `pets.json is damaged at byte ${at}: Not UTF-8`);
});

function nameIn(pet: string): string {
  return (JSON.parse(pet) as { name: string }).name;
}

function write(pets: readonly string[]): string {
  return textOf(tableOf(pets));
}

function textOf(pets: PetTable): string {
  return Buffer.concat([
    ...snapshotText(pets, { crc: 0, arrayBytes: 0 }, randomInt(2 ** 32)),
  ]).toString();
}

function petsOf(texts: readonly string[]): readonly TablePet[] {
  return texts.map((text) => {
    const id = BigInt(/^\{"id":([0-9]+)/.exec(text)![1]!);
    return { id, text, status: undefined };
  });
}

function tableOf(pets: readonly string[]): PetTable {
  const table = new PetTable();
  for (const pet of petsOf(pets)) table.append(pet);
  return table;
}

/** What was read of a file, and its pets as texts. */
async function load(
  content: string | Buffer,
  table: PetTable = new PetTable(),
): Promise<{ table: PetTable; found: ReadSnapshot; pets: readonly string[] }> {
  const file = await createMemoryDisk({ 'pets.json': content }).open('pets.json', 'read');
  const found = await readSnapshot('pets.json', file, table, systemMemory);
  return { table, found, pets: [...table.pets()].map(({ text }) => text) };
}

async function read(content: string | Buffer): Promise<readonly string[]> {
  return (await load(content)).pets;
}

async function assertRefused(content: string | Buffer, start: string): Promise<void> {
  await assert.rejects(load(content), ({ message }: Error) => {
    assert.equal(message.slice(0, start.length), start);
    return true;
  });
}

function bits(binary: string): string {
  return binary.replaceAll('0', ' ').replaceAll('1', '\t');
}
