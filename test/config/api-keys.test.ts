/** The API keys of the configuration: the variable, the file, and the lines of the file. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { DEFAULTS, read, type Env } from './read-config.ts';

const SECRET = 'Secret-4711';
const HEX = createHash('sha256').update(SECRET).digest('hex');
const DIGEST = `sha256:${HEX}`;

const VISIBLE = 'a key must be of visible ASCII characters, without a space';
const LINE = 'expected [NAME: ]KEY[ read-metrics], with spaces only between the parts';
const CHARACTERS = 'a name must be 1 to 64 letters, digits, dots, underscores and hyphens';
const MISSING = 'the key is missing';
const LIKE_A_DIGEST =
  '64 hex digits look like a digest: write sha256: before them, or give the digest of this key';

/** Reads a configuration with this API keys file. */
const readFile = (keys: string, env: Env = {}): ReturnType<typeof read> =>
  read(env, ['--api-keys-file=keys'], { keys });

test('PETSTORE_API_KEYS has at most 1,000 keys and digests, separated by commas', async () => {
  const many = Array.from({ length: 1000 }, (_, index) => `key-${index}`);
  for (const [text, apiKeys] of [
    [' a , b\n', ['a', 'b']],
    [`#a,${DIGEST}`, ['#a', DIGEST]],
    [many.join(), many],
  ] as const) {
    const config = { ...DEFAULTS, apiKeySource: { list: text, file: undefined } };
    const expected = { kind: 'run', config, apiKeys };
    assert.deepEqual(await read({ PETSTORE_API_KEYS: text }, []), expected);
  }
  for (const [PETSTORE_API_KEYS, mistake] of [
    ['a,', 'PETSTORE_API_KEYS, key 2: a key must not be empty'],
    [`a,${many.join()}`, 'There are 1001 API keys, and at most 1000 are allowed'],
  ] as const) {
    const expected = { kind: 'mistakes', mistakes: [mistake] };
    assert.deepEqual(await read({ PETSTORE_API_KEYS }, []), expected);
  }
});

test('The keys of the file, which a variable or a flag names, are added to the others', async () => {
  const files = { one: 'file-key', two: 'other-key' };
  const env = { PETSTORE_API_KEYS: 'fixed-key', PETSTORE_API_KEYS_FILE: 'one' };
  for (const [args, file, key] of [
    [[], 'one', 'file-key'],
    [['--api-keys-file', 'two'], 'two', 'other-key'],
  ] as const) {
    const config = { ...DEFAULTS, apiKeySource: { list: 'fixed-key', file } };
    const apiKeys = ['fixed-key', { key, name: undefined, only: undefined }];
    assert.deepEqual(await read(env, args, files), { kind: 'run', config, apiKeys });
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
    const result = await readFile(text);
    assert.deepEqual(result.kind === 'run' && result.apiKeys, expected, JSON.stringify(text));
  }
});

/** Wrong lines by the problem that each of them has. */
const WRONG_LINES: readonly (readonly [problem: string, lines: readonly string[]])[] = [
  [LINE, [`${SECRET} ${SECRET}`, `shop: ${SECRET} read-metric`, `shop: ${SECRET} # a note`]],
  [LINE, [`shop: ${SECRET} read-metrics ${SECRET}`, `shop : ${SECRET}`, `a: b: ${SECRET}`]],
  [CHARACTERS, [`: ${SECRET}`, `sh/op: ${SECRET}`]],
  ['a name must not be sha256', [`sha256: ${HEX}`]],
  [LIKE_A_DIGEST, [`shop: ${HEX}`, HEX, HEX.toUpperCase()]],
  ['sha256: must be followed by 64 hex digits', [`shop: sha256:${SECRET}`]],
  [MISSING, ['shop: read-metrics', 'shop: #later', 'shop: ', ' shop:\t\r', ' read-metrics']],
  [VISIBLE, [`shop: ${SECRET}\u00a0x`, `${SECRET}\0`]],
];

test('Any other line of the API keys file is a mistake, which quotes no part of it', async () => {
  for (const [problem, lines] of WRONG_LINES) {
    const mistakes = [`The API keys file, line 2: ${problem}`];
    for (const line of lines) {
      assert.deepEqual(await readFile(`good-key\n${line}\n`), { kind: 'mistakes', mistakes }, line);
    }
  }
});

test('An API keys file that is missing, or without a key, is a mistake', async () => {
  for (const keys of ['', '# none\n']) {
    const mistakes = ['The API keys file holds no valid key'];
    assert.deepEqual(await readFile(keys), { kind: 'mistakes', mistakes });
  }
  const missing = 'The API keys file cannot be read: ENOENT: no such file or directory';
  const result = await read({}, ['--api-keys-file', SECRET]);
  assert.deepEqual(result, { kind: 'mistakes', mistakes: [missing] });
});

test('The first twenty mistakes of an API keys file are reported, and how many more', async () => {
  const broken = await readFile('a b\n'.repeat(100_000));
  assert.ok(broken.kind === 'mistakes');
  assert.equal(broken.mistakes.length, 22);
  assert.equal(broken.mistakes[19], `The API keys file, line 20: ${LINE}`);
  assert.equal(broken.mistakes[20], 'The API keys file: 99980 more lines are not valid keys');
  const doubled = await readFile('a\n'.repeat(900));
  assert.equal(doubled.kind === 'mistakes' && doubled.mistakes.length, 20);
});
