/** Where a store's files are: beside the data file, under its name. */
export interface StorePaths {
  readonly snapshot: string;
  readonly tmp: string;
  readonly journal: string;
  readonly lock: string;
}

/** `snapshot` is the data file's path, every symbolic link followed. */
export function storePaths(snapshot: string): StorePaths {
  return {
    snapshot,
    tmp: `${snapshot}.tmp`,
    journal: `${snapshot}.journal`,
    lock: `${snapshot}.lock`,
  };
}
