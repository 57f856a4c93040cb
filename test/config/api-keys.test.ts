/** The API keys of the configuration: the variable, the file, its lines, and what can be a key. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, writeFileSync } from 'node:fs';
import { platform, userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiKeyProblems, type ApiKeyOption } from '../../src/app/api-keys.ts';
import { readApiKeys, readApiKeysFile } from '../../src/app/read-api-keys.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { mistakesIn, read } from './read-config.ts';

const SECRET = 'Secret-4711';
const HEX = createHash('sha256').update(SECRET).digest('hex');
const DIGEST = `sha256:${HEX}`;

const VISIBLE = 'must be of visible ASCII characters, without a space';
const LINE = 'must be [NAME: ]KEY[ read-metrics], with spaces only between the parts';
const CHARACTERS = 'must be 1 to 64 letters, digits, dots, underscores and hyphens';
const NOT_HEX = 'must have 64 hex digits after sha256:';
const LIKE_A_DIGEST =
  'looks like a digest: write sha256: before its 64 hex digits, or give the digest of this key';

/** Reads a configuration with this API keys file. */
const readFile = (keys: string): ReturnType<typeof read> =>
  read({}, ['--api-keys-file=keys'], { keys });

test('PETSTORE_API_KEYS has at most 1,000 keys and digests, separated by commas', async () => {
  const many = Array.from({ length: 1000 }, (_, index) => `key-${index}`);
  for (const [text, expected] of [
    [' a , b\n', ['a', 'b']],
    [`#a,${DIGEST}`, ['#a', DIGEST]],
    [many.join(), many],
  ] as const) {
    const { config, apiKeys, mistakes } = await read({ PETSTORE_API_KEYS: text }, []);
    assert.deepEqual([apiKeys, mistakes, config.generatedKey], [expected, [], undefined]);
  }
  for (const [PETSTORE_API_KEYS, mistake] of [
    ['a,', 'key 2 of PETSTORE_API_KEYS must not be empty'],
    [HEX, `key 1 of PETSTORE_API_KEYS ${LIKE_A_DIGEST}`],
    [`a,${many.join()}`, 'PETSTORE_API_KEYS must be at most 1000 API keys, not 1001'],
  ] as const) {
    assert.deepEqual(await mistakesIn({ PETSTORE_API_KEYS }, []), [mistake]);
  }
});

test('A line of the API keys file is a key, perhaps with a name and read-metrics', async () => {
  const named = (key: string, name?: string, only?: 'metrics'): unknown => ({ key, name, only });
  const plain = (...keys: readonly string[]): readonly unknown[] => keys.map((key) => named(key));
  for (const [text, expected] of [
    ['a\r\nb\r\n', plain('a', 'b')],
    ['\n\n# the first\n  a#b  \n\t\n#b\n  # c\nd,e', plain('a#b', 'd,e')],
    [`\ufeffa\n${DIGEST}\n`, plain('a', DIGEST)],
    [`shop:\t \t${DIGEST}`, [named(DIGEST, 'shop')]],
    ['p: : read-metrics', [named(':', 'p', 'metrics')]],
    ['a  read-metrics\r', [named('a', undefined, 'metrics')]],
    // Lines without a blank are keys.
    ['shop:a\nshop:\nread-metrics', plain('shop:a', 'shop:', 'read-metrics')],
  ] as const) {
    const { apiKeys, mistakes } = await readFile(text);
    assert.deepEqual([apiKeys, mistakes], [expected, []], JSON.stringify(text));
  }
});

/** Wrong lines by the problem that each of them has. Those of a key are in KEYS. */
const WRONG_LINES: readonly (readonly [problem: string, lines: readonly string[]])[] = [
  [LINE, [`${SECRET} ${SECRET}`, `shop: ${SECRET} read-metric`, `shop: ${SECRET} # a note`]],
  [LINE, [`shop: ${SECRET} read-metrics ${SECRET}`, `shop : ${SECRET}`, `a: b: ${SECRET}`]],
  [`has a name, which ${CHARACTERS}`, [`: ${SECRET}`, `sh/op: ${SECRET}`]],
  ['has a name, which must not be sha256', [`sha256: ${HEX}`]],
  [LIKE_A_DIGEST, [`shop: ${HEX}`]],
  [LINE, ['shop: read-metrics', 'shop: #later', 'shop: ', ' shop:\t\r', ' read-metrics']],
  [VISIBLE, [`shop: ${SECRET}\u00a0x`]],
];

test('Any other line of the API keys file is a mistake, which quotes no part of it', async () => {
  for (const [problem, lines] of WRONG_LINES) {
    const expected = [`line 2 of --api-keys-file ${problem}`];
    for (const line of lines) {
      assert.deepEqual((await readFile(`good-key\n${line}\n`)).mistakes, expected, line);
    }
  }
});

test('An API keys file that is missing, or without a key, is a mistake', async () => {
  for (const keys of ['', '# none\n']) {
    const { mistakes } = await readFile(keys);
    assert.deepEqual(mistakes, ['--api-keys-file must have at least one API key']);
  }
  const shown = ['/etc/petstore/keys', './keys', '../a-b/keys.txt', 'C:\\keys'];
  // They may be API keys that were meant for the other variable.
  const hidden = [SECRET, 'keys', DIGEST, 'a/b+c=', '/aB3/x+y', '/kEyThatIsLongerThanAFolder24'];
  for (const path of [...shown, ...hidden]) {
    const quoted = shown.includes(path) ? ` (${path})` : '';
    const mistake = `PETSTORE_API_KEYS_FILE${quoted} cannot be read: ENOENT: no such file or directory`;
    assert.deepEqual(await mistakesIn({ PETSTORE_API_KEYS_FILE: path }, []), [mistake]);
  }
  // A user who may not read the file is named.
  const file = { name: 'FILE', text: '/etc/keys' };
  const { mistakes } = await readApiKeys({ file }, async (path) => {
    throw new Error(`EACCES: permission denied, open '${path}'`);
  });
  const cause = `by the user ${userInfo().username}: EACCES: permission denied`;
  assert.deepEqual(mistakes, [`FILE (/etc/keys) cannot be read ${cause}`]);
});

test('The first twenty mistakes of an API keys file are reported, and how many more', async () => {
  const { mistakes } = await readFile('a b\n'.repeat(100_000));
  assert.equal(mistakes.length, 21);
  assert.equal(mistakes[19], `line 20 of --api-keys-file ${LINE}`);
  assert.equal(mistakes[20], '99980 more are wrong');
  assert.equal((await readFile('a\n'.repeat(900))).mistakes.length, 21);
});

/** Texts by the problem that each of them has as a key; none quotes its key. */
const KEYS: readonly (readonly [problem: string | undefined, keys: readonly string[]])[] = [
  [undefined, ['a', 'k'.repeat(4096), '!~', 'a,b', '#k', 'sha256', 'xSHA256:', 'a:b', DIGEST]],
  ['must not be empty', ['']],
  ['must not be longer than 4096 bytes', ['k'.repeat(4097)]],
  [LIKE_A_DIGEST, [HEX, HEX.toUpperCase()]],
  [VISIBLE, [' ', 'a b', 'a\n', 'a\0', 'schlüssel', 'a\u2028']],
  [NOT_HEX, ['sha256:', DIGEST.slice(0, -1), `${DIGEST}0`, `${DIGEST.slice(0, -1)}g`]],
  ['must have sha256: in small letters', ['SHA256:abc', DIGEST.replace('sha', 'Sha')]],
];

const NAMES: typeof KEYS = [
  [undefined, ['a', 'shop-2026', 'A.b_c-9', 'n'.repeat(64), 'sha256x']],
  [CHARACTERS, ['', 'n'.repeat(65), 'a b', 'a:b', 'ä', 'a"', 'a\n', 'a/b']],
  ['must not be sha256', ['sha256', 'SHA256', 'Sha256']],
];

test('A text is a key or a name, except for a reason that does not quote it', () => {
  const problemOf = (option: ApiKeyOption): string | undefined =>
    apiKeyProblems([option], 'keys')[0]?.sentence;
  for (const [problem, keys] of KEYS) {
    for (const key of keys) assert.equal(problemOf(key), problem, key);
  }
  for (const [problem, names] of NAMES) {
    const expected = problem && `has a name, which ${problem}`;
    for (const name of names) assert.equal(problemOf({ key: 'k', name }), expected, name);
  }
});

test('A duplicate name or key is refused, and so is a key with its digest', () => {
  const [upper, sentence] = [`sha256:${HEX.toUpperCase()}`, 'repeats the key of'];
  const again = [{ option: 'keys[1]', sentence, other: 'keys[0]' }];
  for (const keys of [
    ['a', 'a'],
    [SECRET, DIGEST],
    [{ key: DIGEST, name: 'x' }, SECRET],
    [DIGEST, upper],
  ]) {
    assert.deepEqual(apiKeyProblems(keys, 'keys'), again);
  }
  const names = ['x', 'X'].map((name) => ({ key: `key-${name}`, name }));
  assert.deepEqual(apiKeyProblems(names, 'keys'), []);
});

test('An API keys file of up to 1 MiB is read, and a longer one refused', async (t) => {
  const path = join(tempDir(t), 'keys');
  for (const text of ['', 'é\n'.repeat(100), 'x'.repeat(1 << 20)]) {
    writeFileSync(path, text);
    assert.equal(await readApiKeysFile(path), text);
  }
  writeFileSync(path, 'x'.repeat((1 << 20) + 1));
  await assert.rejects(readApiKeysFile(path), /^Error: it is longer than 1048576 bytes$/);
});

const POSIX = { timeout: 60_000, skip: platform() === 'win32' && 'Windows has no such files' };

test(
  'A pipe or a device is read to its end, and refused if that does not come',
  POSIX,
  async (t) => {
    assert.equal(await readApiKeysFile('/dev/null'), '');
    await assert.rejects(readApiKeysFile('/dev/zero'), /it is longer than 1048576 bytes/);
    const path = join(tempDir(t), 'keys');
    execFileSync('mkfifo', [path]);
    // It waits for a writer, and for the rest.
    const text = readApiKeysFile(path);
    await sleep(50);
    const pipe = createWriteStream(path);
    pipe.write('a\n');
    await sleep(50);
    pipe.end('b\n');
    assert.equal(await text, 'a\nb\n');
    await assert.rejects(readApiKeysFile(path), /^Error: it did not end within 5000 ms$/);
  },
);
