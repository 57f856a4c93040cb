/**
 * Slips: small mistakes that are planted into the built sources, one at a time, to see whether the
 * check that is meant for them notices. The sources, and the tests of the check, are loaded once
 * more for each of them (slip-hooks.ts).
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isInSample } from './extent.ts';
import { casesOf, runCase, titleOf, type Begin } from './script.ts';

/** The line that a slip changes, and what is there instead; perhaps more than one. */
export type Slip = readonly [file: string, line: string, instead: string, ...more: string[]];

/** Slips by the check that notices them, perhaps by what they do wrong. */
export type Slips<Check extends string> = Readonly<
  Partial<Record<Check, readonly Slip[] | Readonly<Record<string, Slip>>>>
>;

// Node.js 26 warns of it: Node.js 20 has no registerHooks.
register('./slip-hooks.js', import.meta.url);

/**
 * Declares a test for each slip that is tried, a third of them without --all or --only: the check
 * complains. It gets a module, whose path is from the folder of tests, as it is with the slip.
 * Fails if a slip cannot be planted, also one that is not tried.
 */
export function testSlips<Module, Check extends string>(
  slips: Slips<Check>,
  module: string,
  check: (loaded: Module, name: Check, t: TestContext) => Promise<readonly string[]>,
): void {
  for (const [name, ofCheck] of Object.entries(slips) as [Check, Record<string, Slip>][]) {
    for (const [does, slip] of Object.entries(ofCheck)) {
      assertFits(slip);
      const [file, line, instead] = slip;
      const change = `${file}, ${JSON.stringify(line)} → ${JSON.stringify(instead)}`;
      const what = Array.isArray(ofCheck) ? change : does;
      // They try the tests, and not the service.
      if (process.env['TEST_ONLY'] === undefined && !isInSample(what, 3)) continue;
      test(`A slip is noticed: ${what}`, async (t) => {
        const query = `?slip=${encodeURIComponent(JSON.stringify(slip))}`;
        const url = new URL(`../${module}${query}`, import.meta.url);
        const [complaint] = await check((await import(url.href)) as Module, name, t);
        assert.ok(complaint !== undefined);
        t.diagnostic(complaint);
      });
    }
  }
}

/**
 * Like `testSlips`, for the cases of the scripts in a folder: a check is the name of a script and
 * the beginning of a case's title. The module has the `begin` of these scripts.
 */
export function testScriptSlips(folder: string, module: string, slips: Slips<string>): void {
  const textOf = (name: string): string => {
    const [script, title = ''] = name.split(': ');
    const cases = casesOf(`${folder}/${script}.script`);
    const text = cases.find((one) => titleOf(one).startsWith(title));
    return text ?? assert.fail(`There is no case ${name}`);
  };
  const texts = new Map(Object.keys(slips).map((name) => [name, textOf(name)]));
  testSlips(slips, module, ({ begin }: { readonly begin: Begin }, name, t) => {
    const text = texts.get(name)!;
    return complaintsOf(async () => {
      const printed = await Promise.race([runCase(t, text, begin, true), whenStuck()]);
      assert.equal(printed, text);
    });
  });
}

/** Resolves after more turns than any case takes: a slip may make it wait for ever. */
async function whenStuck(): Promise<string> {
  for (let turn = 0; turn < 10_000; turn += 1) await nextTurn();
  return 'The case is stuck';
}

/** Resolves with the complaint of a check that fails if something is wrong, or with none. */
export async function complaintsOf(check: () => unknown): Promise<readonly string[]> {
  try {
    await check();
    return [];
  } catch (error) {
    return [String(error)];
  }
}

/** Fails if a line that the slip changes is not in its file exactly once. */
function assertFits(slip: Slip): void {
  for (let at = 0; at < slip.length; at += 3) {
    const [file = '', line = ''] = slip.slice(at);
    const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
    assert.equal(text.split(line).length, 2, `${file} must have this once: ${line}`);
  }
}
