/**
 * Slips: small mistakes that are planted into a copy of the built sources, one at a time, to see
 * whether the check that is meant for them notices.
 */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { tempDir } from './disk/temp-dir.ts';
import { isInSample } from './extent.ts';

/** The line that a slip changes, and what is there instead. */
type Slip = readonly [file: string, line: string, instead: string];

/** Slips by the check that notices them. */
export type Slips<Check extends string> = Readonly<Partial<Record<Check, readonly Slip[]>>>;

const BUILT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * True for a third of all slips, and for all with --all or --only: they try the tests, and not the
 * service.
 */
export function isTried(what: string): boolean {
  return process.env['TEST_ONLY'] !== undefined || isInSample(what, 3);
}

/**
 * Declares a test for each slip that is tried: the check fails on the modules that are loaded from
 * a copy of src with the slip in it. Fails if a slip cannot be planted, also one that is not tried.
 */
export function testSlips<Modules, Check extends string>(
  slips: Slips<Check>,
  load: (root: URL) => Promise<Modules>,
  check: (modules: Modules, name: Check, t: TestContext) => Promise<void>,
): void {
  for (const [name, slipsOfCheck] of Object.entries(slips) as [Check, readonly Slip[]][]) {
    for (const slip of slipsOfCheck) {
      const text = textWith(slip);
      const [file, line, instead] = slip;
      const what = `${file}, ${JSON.stringify(line)} → ${JSON.stringify(instead)}`;
      if (!isTried(what)) continue;
      test(`A slip is noticed: ${what}`, async (t) => {
        const modules = await load(plant(t, file, text));
        await assert.rejects(async () => check(modules, name, t));
      });
    }
  }
}

/** Copies the core and the folder of the file, with this text in it. Returns the copy's src. */
function plant(t: TestContext, file: string, text: string): URL {
  const root = tempDir(t);
  cpSync(join(BUILT, 'package.json'), join(root, 'package.json'));
  const ofFile = dirname(file);
  const filter = (source: string): boolean => !source.endsWith('.map');
  for (const folder of ['core', ...(ofFile.startsWith('core/') ? [] : [ofFile])]) {
    const [from, to] = [join(BUILT, 'src', folder), join(root, 'src', folder)];
    cpSync(from, to, { recursive: true, filter });
  }
  writeFileSync(join(root, 'src', file), text);
  return new URL('src/', pathToFileURL(`${root}/`));
}

/** Returns the file with the slip in it. Fails if the line is not there exactly once. */
function textWith([file, line, instead]: Slip): string {
  const parts = readFileSync(join(BUILT, 'src', file), 'utf8').split(line);
  assert.equal(parts.length, 2, `${file} must have this once: ${line}`);
  return parts.join(instead);
}
