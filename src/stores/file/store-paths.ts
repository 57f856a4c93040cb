/** Where a store's files are: beside the data file, under its name. */
export interface StorePaths {
  readonly snapshot: string;
  readonly journal: string;
  /** The idempotency keys of the last checkpoint. */
  readonly keys: string;
  readonly lock: string;
  /** A snapshot or a journal that is being written. */
  readonly tmp: string;
  readonly keysTmp: string;
  /** A file for all pets if the store must not write the data file. */
  saved(at: Date): string;
}

/** `snapshot` is the data file's path, every symbolic link followed. */
export function storePaths(snapshot: string): StorePaths {
  return {
    snapshot,
    journal: `${snapshot}.journal`,
    keys: `${snapshot}.keys`,
    lock: `${snapshot}.lock`,
    tmp: `${snapshot}.tmp`,
    keysTmp: `${snapshot}.keys.tmp`,
    // 20261121T201500123Z: no colon, which Windows has for something else.
    saved: (at) => `${snapshot}.saved-${at.toISOString().replace(/[-:.]/g, '')}`,
  };
}
