/** The table of settings: the process and an app read a row alike. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkOptions, type AppOptions } from '../../src/app-options.ts';
import { readConfig } from '../../src/config.ts';
import { OPTION_NAMES, SETTINGS, type SettingName } from '../../src/settings.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';

const OPTIONS = { store: createMemoryStore(), apiKeys: ['a-key'] };

/** A row, and a value as text and as a program gives it; '' if the value is valid. */
const CASES: readonly (readonly [
  name: 'bodyLimitBytes' | 'corsOrigins' | 'accessLog' | 'page',
  text: string,
  value: unknown,
  expected: string,
])[] = [
  ['bodyLimitBytes', '1', 1, ''],
  ['bodyLimitBytes', '5242880', 5_242_880, ''],
  ['bodyLimitBytes', '0', 0, 'an integer from 1 to 5242880'],
  ['bodyLimitBytes', '5242881', 5_242_881, 'an integer from 1 to 5242880'],
  ['bodyLimitBytes', '1.5', 1.5, 'an integer from 1 to 5242880'],
  ['corsOrigins', '*, https://a.example', ['*', 'https://a.example'], ''],
  ['corsOrigins', '*,a', ['*', 'a'], 'an origin such as https://shop.example, or *'],
  ['accessLog', 'on', true, ''],
  ['page', 'off', false, ''],
];

for (const [name, text, value, expected] of CASES) {
  const outcome = expected === '' ? 'valid' : 'refused';
  test(`${name}: ${text} is ${outcome} for the process and for an app`, async () => {
    const { variable = '' } = SETTINGS[name];
    const fromProcess = await readConfig({ [variable]: text }, [], async () => '');
    const check = (): unknown => checkOptions({ ...OPTIONS, [name]: value } as AppOptions)[name];
    if (expected !== '') {
      const [mistake = ''] = fromProcess.kind === 'mistakes' ? fromProcess.mistakes : [];
      assert.ok(mistake.startsWith(`${variable} must be ${expected}, not `), mistake);
      assert.throws(check, (error: Error) =>
        error.message.includes(`: expected ${expected}, not `),
      );
    } else {
      assert.ok(fromProcess.kind === 'run');
      assert.deepEqual(fromProcess.config[name], value);
      assert.deepEqual(check(), value);
    }
  });
}

test('Each row can be set: by a variable, which the help explains, or by an option', () => {
  for (const [name, { variable, flag, placeholder, help }] of Object.entries(SETTINGS)) {
    assert.ok(variable !== undefined || OPTION_NAMES.includes(name), name);
    assert.equal(variable === undefined, help === undefined, name);
    assert.equal(flag === undefined, placeholder === undefined, name);
  }
  const variables = Object.values(SETTINGS).flatMap(({ variable }) => variable ?? []);
  assert.equal(new Set(variables).size, variables.length);
});

test('The options of an app are those of its type', () => {
  const names: Readonly<Record<keyof AppOptions, true>> = {
    ...{ dataFile: true, memory: true, etcd: true, store: true, apiKeys: true, prefix: true },
    ...{ bodyLimitBytes: true, log: true, accessLog: true, corsOrigins: true, page: true },
    ...{ now: true, runtime: true },
  };
  assert.deepEqual([...OPTION_NAMES].sort(), (Object.keys(names) as SettingName[]).sort());
});
