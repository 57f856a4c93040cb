/** Reads configurations for tests, and tests settings: those of the core, and those of an extra. */

import assert from 'node:assert/strict';
import { platform } from 'node:os';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { readCommandLine } from '../../src/process/command-line.ts';
import { PROCESS_SETTINGS, readConfig, SERVICE_FLAGS } from '../../src/process/config.ts';

export type Env = Readonly<Record<string, string>>;

/**
 * Reads a configuration on a disk that has only the given files. `options` are those that are not
 * the default of their setting, without the API keys.
 */
export async function read(env: Env, args: readonly string[], files: Env = {}) {
  const line = readCommandLine(args, { flags: SERVICE_FLAGS });
  const config = await readConfig(line, env, async (path) => {
    const text = files[path];
    if (text !== undefined) return text;
    throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  });
  const { apiKeys, ...options } = config.options;
  const given = Object.entries(options).filter(([option, value]) => {
    const setting = PROCESS_SETTINGS.find((one) => one.option === option);
    return value !== undefined && !isDeepStrictEqual(value, setting?.default);
  });
  return { config, options: Object.fromEntries(given), apiKeys, mistakes: line.mistakes };
}

/** Resolves with all that is wrong. */
export async function mistakesIn(...given: Parameters<typeof read>): Promise<readonly string[]> {
  return (await read(...given)).mistakes;
}

/** What texts of a setting mean, what else it must be, and texts that it cannot be. */
export type Row = readonly [
  option: string,
  valid: Readonly<Record<string, unknown>>,
  expected?: string,
  invalid?: readonly string[],
];

/** Declares a test of a setting. */
export function testSetting([option, valid, expected, invalid = []]: Row): void {
  const setting = PROCESS_SETTINGS.find((one) => one.option === option)!;
  const [variable, flag] = [setting.variable, `--${setting.flag}`];
  test(`${variable} and ${flag} are read alike`, async () => {
    const valueIn = async (...given: Parameters<typeof read>): Promise<unknown> => {
      const { config, mistakes } = await read(...given);
      assert.deepEqual(mistakes, []);
      return { ...config, ...config.options }[option as 'port'];
    };
    for (const [text, value] of Object.entries(valid)) {
      assert.deepEqual(await valueIn({ [variable]: text }, []), value);
      // The flag overrides the variable.
      assert.deepEqual(await valueIn({ [variable]: 'not this' }, [flag, text]), value);
      assert.deepEqual(await valueIn({}, [`${flag}=${text}`]), value);
    }
    for (const text of invalid) {
      const part = text.split(',').at(-1)!;
      // A number is shown as such.
      const mistake = `must be ${expected}, not ${/^[0-9]{1,15}$/.test(part) ? part : `"${part}"`}`;
      assert.deepEqual(await mistakesIn({ [variable]: text }, []), [`${variable} ${mistake}`]);
      assert.deepEqual(await mistakesIn({}, [`${flag}=${text}`]), [`${flag} ${mistake}`]);
    }
  });
}

/** The API keys that were made so far: each is another one. */
const made = new Set<string | undefined>();

/** Declares a test for each line: arguments and variables, and the options that they are. */
export function testOptions(
  lines: readonly (readonly [args: string, env: Env, options: object])[],
): void {
  for (const [args, env, expected] of lines) {
    test(`${args} with ${Object.keys(env).join()} is read as ${JSON.stringify(expected)}`, async () => {
      const { config, options, mistakes } = await read(env, args === '' ? [] : args.split(' '));
      assert.deepEqual([options, mistakes], [expected, []]);
      assert.deepEqual([config.host, config.port], ['127.0.0.1', 8080]);
      assert.match(config.generatedKey ?? '', /^[\w-]{32}$/);
      assert.ok(!made.has(config.generatedKey));
      made.add(config.generatedKey);
      assert.deepEqual(config.options.apiKeys, [config.generatedKey]);
    });
  }
}

/** Declares a test for each line: variables and arguments, and the one mistake in them. */
export function testMistakes(lines: readonly (readonly [given: string, mistake: string])[]): void {
  for (const [given, mistake] of lines) {
    test(`${given} is a mistake: ${mistake}`, async () => {
      const words = given.split(' ');
      const variables = words.filter((word) => /^[A-Z_]+=/.test(word));
      const env = Object.fromEntries(variables.map((word) => word.split(/=(.*)/, 2))) as Env;
      const args = words.filter((word) => !variables.includes(word));
      assert.deepEqual(await mistakesIn(env, args), [mistake]);
    });
  }
}

/** Texts that only look like a path, and what they must be. */
const DISGUISED: readonly (readonly [expected: string, ...texts: string[]])[] = [
  ['without quotes around it', '"/data/pets.json"', "'pets.json'", '`x`', '"x "'],
  ['without whitespace at its ends', '/data/pets.json\n', 'pets.json\r', ' pets.json', 'x\u00a0'],
  ['without control characters', 'a\0b', 'a\x1bb'],
  [
    'without ~ or $ at its beginning, which only a shell replaces (./~ is a name)',
    ...['~/pets.json', '~me/pets.json', '$HOME/pets.json', '${DATA}/pets.json'],
  ],
  ...(platform() === 'win32'
    ? []
    : [['a path of this system, without a drive', 'C:\\pets.json'] as const]),
];

/**
 * Checks that a text that only looks like a path is refused, and quoted, by each setting of a free
 * text whose option begins with `start`. Such a setting may need other variables.
 */
export async function assertDisguisesRefused(start: RegExp, others: Env = {}): Promise<number> {
  const free = PROCESS_SETTINGS.filter(({ option, parser }) => {
    const isFree = option !== 'apiKeys' && !/number|on\|off|url/.test(parser.placeholder);
    return isFree && start.test(option);
  });
  for (const { option, variable } of free) {
    for (const [expected, ...texts] of DISGUISED) {
      for (const text of texts) {
        const mistakes = await mistakesIn({ ...others, [variable]: text }, []);
        // It may be an API key that was meant for the other variable.
        const shown = option === 'apiKeysFile' ? '' : `, not ${JSON.stringify(text)}`;
        assert.deepEqual(mistakes, [`${variable} must be ${expected}${shown}`]);
      }
    }
  }
  return free.length;
}
