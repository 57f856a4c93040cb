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
 * Copies the core and the folder of the file, with the slip in the file. Returns the copy's src.
 * Fails if the line is not there exactly once.
 */
export function plant(t: TestContext, [what, file, line, instead]: Slip<string>): URL {
  const root = tempDir(t);
  cpSync(join(BUILT, 'package.json'), join(root, 'package.json'));
  const ofFile = dirname(file);
  const filter = (source: string): boolean => !source.endsWith('.map');
  for (const folder of ['core', ...(ofFile.startsWith('core/') ? [] : [ofFile])]) {
    const [from, to] = [join(BUILT, 'src', folder), join(root, 'src', folder)];
    cpSync(from, to, { recursive: true, filter });
  }
  const path = join(root, 'src', file);
  const parts = readFileSync(path, 'utf8').split(line);
  assert.equal(parts.length, 2, `${file} must have this once, for "${what}": ${line}`);
  writeFileSync(path, parts.join(instead));
  return new URL('src/', pathToFileURL(`${root}/`));
}
