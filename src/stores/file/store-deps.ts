/** What the parts of an open store share: its files, its tables, and what tests replace. */

import type { Clock } from '../../base/clock.ts';
import type { Histogram } from '../../base/histogram.ts';
import type { Log } from '../../base/log.ts';
import type { Memory } from '../../base/memory.ts';
import type { KeyTable } from '../table/key-table.ts';
import type { PetTable } from '../table/pet-table.ts';
import type { Disk } from './disk.ts';
import type { StoreLock } from './lock.ts';
import type { StorePaths } from './store-paths.ts';

export interface StoreDeps {
  readonly disk: Disk;
  readonly paths: StorePaths;
  readonly lock: StoreLock;
  readonly pets: PetTable;
  readonly keys: KeyTable;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts the journal's syncs that succeed. */
  readonly syncSeconds: Histogram;
  /** For tests: 32 random bits. */
  readonly randomBits?: (() => number) | undefined;
}
