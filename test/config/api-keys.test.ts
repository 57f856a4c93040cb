/** The API keys of the configuration: the variable, the file, and the lines of the file. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { readApiKeys } from '../../src/api-keys/read-api-keys.ts';
import { readConfig } from '../../src/config.ts';
import { DEFAULTS, read } from './read-config.ts';

const SECRET = 'Secret-4711';
const HEX = createHash('sha256').update(SECRET).digest('hex');
const DIGEST = `sha256:${HEX}`;

const VISIBLE = 'a key must be of visible ASCII characters, without a space';
const LINE = 'expected [NAME: ]KEY[ read-metrics], with spaces only between the parts';
const CHARACTERS = 'a name must be 1 to 64 letters, digits, dots, underscores and hyphens';
const MISSING = 'the key after the name is missing';
const NOT_HEX = 'sha256: must be followed by 64 hex digits';
const LIKE_A_DIGEST =
  '64 hex digits look like a digest: write sha256: before them, or give the digest of this key';

test('PETSTORE_API_KEYS has keys and digests, separated by commas', async () => {
  for (const [text, fixed] of [
    ['a', ['a']],
    ['a,b', ['a', 'b']],
    [' a , b\n', ['a', 'b']],
    [`a,${DIGEST}`, ['a', DIGEST]],
    ['#a', ['#a']],
  ] as const) {
    const config = { ...DEFAULTS, apiKeySource: { fixed, file: undefined } };
    const expected = { kind: 'run', config, apiKeys: fixed };
    assert.deepEqual(await read({ PETSTORE_API_KEYS: text }, []), expected);
  }
});

test('PETSTORE_API_KEYS has no empty key, and at most 1,000 keys', async () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, index) => `key-${index}`).join();
  const empty = 'PETSTORE_API_KEYS, key 2: a key must not be empty';
  for (const [PETSTORE_API_KEYS, mistakes] of [
    ['a,,b', [empty]],
    ['a,', [empty]],
    [many(1001), ['There are 1001 API keys, and at most 1000 are allowed']],
  ] as const) {
    assert.deepEqual(await read({ PETSTORE_API_KEYS }, []), { kind: 'mistakes', mistakes });
  }
  assert.equal((await read({ PETSTORE_API_KEYS: many(1000) }, [])).kind, 'run');
});

test('The keys of the file, which a variable or a flag names, are added to the others', async () => {
  const files = { one: 'file-key', two: 'other-key' };
  const env = { PETSTORE_API_KEYS: 'fixed-key', PETSTORE_API_KEYS_FILE: 'one' };
  for (const [args, file, key] of [
    [[], 'one', 'file-key'],
    [['--api-keys-file', 'two'], 'two', 'other-key'],
  ] as const) {
    const config = { ...DEFAULTS, apiKeySource: { fixed: ['fixed-key'], file } };
    const apiKeys = ['fixed-key', key];
    assert.deepEqual(await read(env, args, files), { kind: 'run', config, apiKeys });
  }
});

test('The API keys file is read once, so that it may be a pipe', async () => {
  const texts = ['piped-key'];
  const result = await readConfig({}, ['--api-keys-file', '/dev/stdin'], async () => texts.pop()!);
  assert.deepEqual(result.kind === 'run' && result.apiKeys, ['piped-key']);
});

test('A line of the API keys file is a key, perhaps with a name and read-metrics', async () => {
  const named = (key: string, name?: string, only?: 'metrics'): unknown => ({ key, name, only });
  for (const [text, expected] of [
    ['a', ['a']],
    ['a\nb\n', ['a', 'b']],
    ['a\r\nb\r\n', ['a', 'b']],
    ['\n\n# the first\n  a  \n\t\n#b\n  # c\nd', ['a', 'd']],
    ['a#b\n', ['a#b']],
    ['a,b\n', ['a,b']],
    [`${DIGEST}\n`, [DIGEST]],
    ['\ufeffa\n', ['a']],
    ['shop-2026: a', [named('a', 'shop-2026')]],
    [`shop:\t \t${DIGEST}`, [named(DIGEST, 'shop')]],
    ['p: a read-metrics', [named('a', 'p', 'metrics')]],
    ['a  read-metrics\r', [named('a', undefined, 'metrics')]],
    ['p: :', [named(':', 'p')]],
    // Lines without a blank are keys.
    ['shop:a', ['shop:a']],
    ['shop:', ['shop:']],
    ['read-metrics', ['read-metrics']],
  ] as const) {
    const mistakes: string[] = [];
    const keys = await readApiKeys({ fixed: [], file: 'keys' }, async () => text, mistakes);
    assert.deepEqual({ keys, mistakes }, { keys: expected, mistakes: [] }, JSON.stringify(text));
  }
});

test('Any other line of the API keys file is a mistake, which quotes no part of it', async () => {
  const cases: readonly (readonly [line: string, problem: string])[] = [
    [`${SECRET} ${SECRET}`, LINE],
    [`shop: ${SECRET} read-metric`, LINE],
    [`shop: ${SECRET} read-metrics ${SECRET}`, LINE],
    [`shop: ${SECRET} # a note`, LINE],
    [`shop : ${SECRET}`, LINE],
    [`a: b: ${SECRET}`, LINE],
    [`: ${SECRET}`, CHARACTERS],
    [`sh/op: ${SECRET}`, CHARACTERS],
    [`${'n'.repeat(65)}: ${SECRET}`, CHARACTERS],
    [`SHA256: ${HEX}`, 'a name must not be sha256'],
    [`sha256: ${HEX}`, 'a name must not be sha256'],
    [`shop: ${HEX}`, LIKE_A_DIGEST],
    [HEX, LIKE_A_DIGEST],
    [HEX.toUpperCase(), LIKE_A_DIGEST],
    [`SHA256:${HEX}`, 'sha256: is written in small letters'],
    [`Sha256:${HEX}`, 'sha256: is written in small letters'],
    [`shop: sha256:${HEX}0`, NOT_HEX],
    ['shop: read-metrics', MISSING],
    ['shop: #later', MISSING],
    [`shop: ${SECRET}\u00a0x`, VISIBLE],
  ];
  for (const [line, problem] of cases) {
    const result = await read({}, ['--api-keys-file=keys'], { keys: `good-key\n${line}\n` });
    const mistakes = [`The API keys file, line 2: ${problem}`];
    assert.deepEqual(result, { kind: 'mistakes', mistakes }, line);
  }
});

test('An API keys file that is missing, or without a key, is a mistake', async () => {
  const args = ['--api-keys-file', 'keys'];
  for (const keys of ['', '\n', '# none\n']) {
    const mistakes = ['The API keys file holds no valid key'];
    assert.deepEqual(await read({}, args, { keys }), { kind: 'mistakes', mistakes });
  }
  const missing = 'The API keys file cannot be read: ENOENT: no such file or directory';
  assert.deepEqual(await read({}, args), { kind: 'mistakes', mistakes: [missing] });
});

test('A key or a name that is given twice is a mistake', async () => {
  const again = (what: string, line: number, where: string): string =>
    `The API keys file, line ${line}: the ${what} is configured already (${where})`;
  const keys = `a: ${SECRET}\nb: x\na: y\nc: ${DIGEST}\nfixed\n`;
  const env = { PETSTORE_API_KEYS: 'fixed' };
  assert.deepEqual(await read(env, ['--api-keys-file=keys'], { keys }), {
    kind: 'mistakes',
    mistakes: [
      again('name', 3, 'The API keys file, line 1'),
      again('key', 4, 'The API keys file, line 1'),
      again('key', 5, 'PETSTORE_API_KEYS, key 1'),
    ],
  });
});

test('The first twenty mistakes of an API keys file are reported, and how many more', async () => {
  const broken = await read({}, ['--api-keys-file=keys'], { keys: 'a b\n'.repeat(100_000) });
  assert.ok(broken.kind === 'mistakes');
  assert.equal(broken.mistakes.length, 22);
  assert.equal(broken.mistakes[19], `The API keys file, line 20: ${LINE}`);
  assert.equal(broken.mistakes[20], 'The API keys file: 99980 more lines are not valid keys');
  const doubled = await read({}, ['--api-keys-file=keys'], { keys: 'a\n'.repeat(900) });
  assert.equal(doubled.kind === 'mistakes' && doubled.mistakes.length, 20);
});

test('A mistake never quotes an API key', async () => {
  const spaced = [`${SECRET} x`, `x ${SECRET}`, `${SECRET}\u00e9`, `${SECRET}\0`];
  const broken = [...spaced, `sha256:${SECRET}`];
  const results = await Promise.all([
    ...broken.map((text) => read({ PETSTORE_API_KEYS: `${SECRET},${text},,${SECRET}` }, [])),
    ...broken.map((text) => read({}, ['--api-keys-file=keys'], { keys: `${SECRET}\n${text}` })),
    read({ PETSTORE_API_KEYS: SECRET, PORT: 'x' }, ['--what', '--api-keys-file=missing']),
    read({}, [`--api-keys=${SECRET}`]),
    read({}, [`-k${SECRET}`]),
    read({}, ['--api-key', SECRET]),
  ]);
  for (const result of results) {
    assert.equal(result.kind, 'mistakes');
    assert.doesNotMatch(JSON.stringify(result), new RegExp(SECRET));
  }
});
