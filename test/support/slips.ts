/**
 * Slips: small mistakes that are planted into a copy of the built sources, one at a time, to see
 * whether the check that is meant for them notices.
 */

import assert from 'node:assert/strict';
import {
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { after, type TestContext } from 'node:test';
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
/** One copy: the other files of those with a slip are links to it, which takes less time. */
const COPY = tempDir({ after });
cpSync(join(BUILT, 'src'), join(COPY, 'src'), { recursive: true });
const MODULES = readdirSync(COPY, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.js'),
);

/**
 * Copies the core and the folder of the file, with the slip in the file. Returns the copy's src.
 * Fails if the line is not there exactly once.
 */
export function plant(t: TestContext, [what, file, line, instead]: Slip<string>): URL {
  const root = tempDir(t);
  cpSync(join(BUILT, 'package.json'), join(root, 'package.json'));
  const ofFile = dirname(file);
  const folders = ['core', ofFile].map((folder) => join('src', folder, sep));
  for (const module of MODULES) {
    if (!folders.some((folder) => module.startsWith(folder))) continue;
    mkdirSync(dirname(join(root, module)), { recursive: true });
    linkSync(join(COPY, module), join(root, module));
  }
  const path = join(root, 'src', file);
  const parts = readFileSync(path, 'utf8').split(line);
  assert.equal(parts.length, 2, `${file} must have this once, for "${what}": ${line}`);
  rmSync(path);
  writeFileSync(path, parts.join(instead));
  return new URL('src/', pathToFileURL(`${root}/`));
}
