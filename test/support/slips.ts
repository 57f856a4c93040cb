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
import { dirname, join } from 'node:path';
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
/** The paths of its modules, by folder. */
const MODULES = new Map<string, readonly string[]>();

/**
 * Copies the core and the folder of the file, with the slip in the file. Returns the copy's src.
 * Fails if the line is not there exactly once.
 */
export function plant(t: TestContext, [what, file, line, instead]: Slip<string>): URL {
  const root = tempDir(t);
  cpSync(join(BUILT, 'package.json'), join(root, 'package.json'));
  const ofFile = dirname(file);
  for (const folder of ['core', ...(ofFile.startsWith('core/') ? [] : [ofFile])]) {
    for (const module of modulesIn(folder)) {
      mkdirSync(dirname(join(root, module)), { recursive: true });
      linkSync(join(COPY, module), join(root, module));
    }
  }
  const path = join(root, 'src', file);
  const parts = readFileSync(path, 'utf8').split(line);
  assert.equal(parts.length, 2, `${file} must have this once, for "${what}": ${line}`);
  rmSync(path);
  writeFileSync(path, parts.join(instead));
  return new URL('src/', pathToFileURL(`${root}/`));
}

function modulesIn(folder: string): readonly string[] {
  let modules = MODULES.get(folder);
  if (modules === undefined) {
    const from = join(BUILT, 'src', folder);
    cpSync(from, join(COPY, 'src', folder), { recursive: true });
    const names = readdirSync(from, { recursive: true, encoding: 'utf8' });
    modules = names.filter((name) => name.endsWith('.js')).map((name) => join('src', folder, name));
    MODULES.set(folder, modules);
  }
  return modules;
}
