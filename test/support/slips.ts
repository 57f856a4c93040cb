/**
 * Slips: small mistakes that are planted into a copy of the built sources, one at a time, to see
 * whether the check that is meant for them notices.
 */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { tempDir } from './disk/temp-dir.ts';
import { isInSample } from './extent.ts';

/** What the slip does, the line that it changes, what is there instead, and the check. */
export type Slip<Check extends string> = readonly [
  what: string,
  file: string,
  line: string,
  instead: string,
  check: Check,
];

const BUILT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * True for a third of all slips, and for all with --all or --only: they try the tests, and not the
 * service.
 */
export function isTried(what: string): boolean {
  return process.env['TEST_ONLY'] !== undefined || isInSample(what, 3);
}

/** Returns the slips that are tried. Fails if any of them cannot be planted. */
export function triedOf<One extends Slip<string>>(slips: readonly One[]): readonly One[] {
  slips.forEach(textWith);
  return slips.filter(([what]) => isTried(what));
}

/** Copies the core and the folder of the file, with the slip in it. Returns the copy's src. */
export function plant(t: TestContext, slip: Slip<string>): URL {
  const root = tempDir(t);
  cpSync(join(BUILT, 'package.json'), join(root, 'package.json'));
  const [, file] = slip;
  const ofFile = dirname(file);
  const filter = (source: string): boolean => !source.endsWith('.map');
  for (const folder of ['core', ...(ofFile.startsWith('core/') ? [] : [ofFile])]) {
    const [from, to] = [join(BUILT, 'src', folder), join(root, 'src', folder)];
    cpSync(from, to, { recursive: true, filter });
  }
  writeFileSync(join(root, 'src', file), textWith(slip));
  return new URL('src/', pathToFileURL(`${root}/`));
}

/** Returns the file with the slip in it. Fails if the line is not there exactly once. */
function textWith([what, file, line, instead]: Slip<string>): string {
  const parts = readFileSync(join(BUILT, 'src', file), 'utf8').split(line);
  assert.equal(parts.length, 2, `${file} must have this once, for "${what}": ${line}`);
  return parts.join(instead);
}
