/** What the parts of an open store share: its paths, its tables, and what tests replace. */

import type { Clock, Memory } from '../../base/system.ts';
import type { Histogram } from '../../base/histogram.ts';
import type { Logger } from '../../base/logger.ts';
import { hex } from '../commit.ts';
import type { IdempotencyKeys } from '../table/idempotency-keys.ts';
import type { PetTable } from '../table/pet-table.ts';
import type { Disk } from './disk.ts';

export interface StoreDeps {
  readonly disk: Disk;
  readonly paths: StorePaths;
  readonly lock: StoreLock;
  readonly pets: PetTable;
  readonly keys: IdempotencyKeys;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Counts the journal's syncs that succeed. */
  readonly syncSeconds: Histogram;
  /** Returns 32 random bits. */
  readonly randomBits: () => number;
}

export interface StoreLock {
  /** Throws ReadOnlyError if the lock file is not the locked one any more. */
  assertHeld(): void;
  release(): Promise<void>;
}

/** The paths of a store's files: next to the data file, and beginning with its name. */
export interface StorePaths {
  readonly dataFile: string;
  readonly journal: string;
  readonly lock: string;
  /** The idempotency keys of releases 1.1 and 1.2. */
  readonly oldKeys: string;
  /** The file for all pets if the store must not write the data file. */
  saved(at: Date): string;
  /** A file that is being written, under a name that no other process uses: with random bits. */
  unfinished(bits: number): string;
}

/** How the names of unfinished and of saved files continue after that of the data file. */
export const UNFINISHED: RegExp = /^\.unfinished-[0-9a-f]{8}$/;
export const SAVED: RegExp = /^\.saved-[0-9]{8}T[0-9]{9}Z$/;

/** Returns the paths for a data file whose symbolic links were followed. */
export function storePaths(dataFile: string): StorePaths {
  return {
    dataFile,
    journal: `${dataFile}.journal`,
    lock: `${dataFile}.lock`,
    oldKeys: `${dataFile}.keys`,
    // 20261121T201500123Z: without colons, which Windows allows in no file name.
    saved: (at) => `${dataFile}.saved-${at.toISOString().replace(/[-:.]/g, '')}`,
    unfinished: (bits) => `${dataFile}.unfinished-${hex(bits)}`,
  };
}
