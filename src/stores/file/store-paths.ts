/** The paths of a store's files: next to the data file, and beginning with its name. */
export interface StorePaths {
  readonly snapshot: string;
  readonly journal: string;
  /** The idempotency keys of the last checkpoint. */
  readonly keys: string;
  readonly lock: string;
  /** A snapshot or a journal that is being written. */
  readonly tmp: string;
  readonly keysTmp: string;
  /** The file for all pets if the store must not write the data file. */
  saved(at: Date): string;
}

/** Returns the paths for the data file `snapshot`, whose symbolic links were followed. */
export function storePaths(snapshot: string): StorePaths {
  return {
    snapshot,
    journal: `${snapshot}.journal`,
    keys: `${snapshot}.keys`,
    lock: `${snapshot}.lock`,
    tmp: `${snapshot}.tmp`,
    keysTmp: `${snapshot}.keys.tmp`,
    // 20261121T201500123Z: without colons, which Windows allows in no file name.
    saved: (at) => `${snapshot}.saved-${at.toISOString().replace(/[-:.]/g, '')}`,
  };
}
