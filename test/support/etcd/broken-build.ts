/** A copy of the built sources with a planted fault, to see if a test finds it. */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { tempDir } from '../disk/temp-dir.ts';

/** Relative to this file's compiled path, .build/test/support/etcd. */
const SOURCES: string = fileURLToPath(new URL('../../../src', import.meta.url));

export interface PlantedFault {
  readonly what: string;
  /** A path of a built file in `src`; a text that it has once; and its replacement. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** Returns the URL of the store's module: of a copy with the fault, or of the build itself. */
export function storeModule(
  t: { after(hook: () => void | Promise<void>): void },
  fault?: PlantedFault,
): string {
  const name = join('stores', 'etcd', 'etcd-store.js');
  if (fault === undefined) return pathToFileURL(join(SOURCES, name)).href;
  const folder = tempDir(t);
  cpSync(SOURCES, join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const path = join(folder, 'src', fault.file);
  const parts = readFileSync(path, 'utf8').split(fault.from);
  assert.equal(parts.length, 2, `${fault.file} has "${fault.from}" once`);
  writeFileSync(path, parts.join(fault.to));
  return pathToFileURL(join(folder, 'src', name)).href;
}
