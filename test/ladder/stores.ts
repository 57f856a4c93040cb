/** Opens the store of each row of the ladder: a rung, a patched rung, or the core's store. */

import { readFileSync } from 'node:fs';
import { ArrayStore, type NewPet } from '../../src/ladder/1-plain.ts';
import { openJsonFileStore } from '../../src/ladder/2-json-file.ts';
import { openAppendStore } from '../../src/ladder/3-append.ts';
import { DataFile } from '../../src/core/store/data-file.ts';
import type { Disk } from '../../src/core/store/disk.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';
import { intercept } from '../support/disk/intercept.ts';
import { TestClock } from '../support/test-clock.ts';
import type { Row, RungName } from './variants.ts';

interface Listed {
  readonly text: string;
}

/** What the ladder asks of a store. */
export interface LadderStore {
  create(newPet: NewPet): Promise<{ readonly text: string }>;
  list(query: { readonly limit: number }): Listed | Promise<Listed>;
}

export type OpenStore = (path: string, disk: Disk) => Promise<LadderStore>;

const RUNGS: Readonly<Record<RungName, OpenStore>> = {
  '1-plain': async () => new ArrayStore(),
  '2-json-file': openJsonFileStore,
  '3-append': openAppendStore,
  core: openCore,
};

function openCore(path: string, disk: Disk): Promise<LadderStore> {
  // The names of two processes' unfinished files differ.
  const randomBits = (): number => (lastBits += 1);
  return openFileStore({ path, disk, randomBits, clock: new TestClock().startProcess() });
}

let lastBits = 0;

/** Calls `use` with the function that opens the row's store. */
export async function withStore<T>(row: Row, use: (open: OpenStore) => Promise<T>): Promise<T> {
  if (row.name === 'no-lock') {
    const { prototype } = DataFile;
    const { check } = prototype;
    prototype.check = async () => 'ours';
    return use(openWithoutLock).finally(() => (prototype.check = check));
  }
  return use(row.patches.length === 0 ? RUNGS[row.rung] : await openPatched(row));
}

const openWithoutLock: OpenStore = (path, disk) => {
  const unlocked = intercept(disk, ({ operation }, args, proceed) =>
    operation === 'lock' ? Promise.resolve(true) : proceed(...args),
  );
  return openCore(path, unlocked);
};

/** Resolves with the opening function of the row's rung, after its text was patched. */
async function openPatched(row: Row): Promise<OpenStore> {
  const module = (await import(patchedModule(row))) as Module;
  const open = module.openJsonFileStore ?? module.openAppendStore;
  if (open === undefined) throw new Error(`${row.name} has no function that opens it`);
  return open;
}

/** Returns the URL of the row's rung after its text was patched. */
export function patchedModule({ rung, patches }: Row): string {
  const url = new URL(`../../src/ladder/${rung}.js`, import.meta.url);
  let text = readFileSync(url, 'utf8');
  for (const [from, to] of patches) {
    if (text.split(from).length !== 2) throw new Error(`${rung} does not have once: ${from}`);
    text = text.replace(from, () => to);
  }
  // A module without a file has no folder for its imports.
  text = text.replace(/(?<=^import .* from ')\..*(?=';$)/gm, (path) => new URL(path, url).href);
  return `data:text/javascript,${encodeURIComponent(text)}`;
}

interface Module {
  readonly openJsonFileStore?: OpenStore;
  readonly openAppendStore?: OpenStore;
}
