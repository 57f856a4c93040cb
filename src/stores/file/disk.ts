/**
 * Disk: every file operation that the store needs, and no others.
 *
 * It is injected, so that tests can run the store on a simulated disk which fails, stops or forgets
 * at any operation. node-disk.ts is the real one. Each operation may reject with an error that has
 * a system `code` (ENOSPC, EIO …). An operation that rejects may still have taken effect.
 */

export interface Disk {
  /**
   * `read` opens a file for reading, `edit` for reading and writing. `create` makes a new file, and
   * rejects if the path exists.
   */
  open(
    path: string,
    how: 'read' | 'edit' | 'create',
    attributes?: FileAttributes,
  ): Promise<DiskFile>;

  /** Returns what is at the path, or undefined if nothing is. It is synchronous. */
  stat(path: string): FileStat | undefined;

  /** Resolves with the path with every symbolic link followed; its last name need not exist. */
  resolve(path: string): Promise<string>;

  /** Makes the folder and its missing parents. */
  makeDirectory(path: string): Promise<void>;

  rename(from: string, to: string): Promise<void>;

  /** Gives the file a second name, which must not exist yet. */
  link(from: string, to: string): Promise<void>;

  /** Removes the file, if it exists. */
  remove(path: string): Promise<void>;

  /** Makes durable which files and folders were made, renamed and removed in the folder. */
  syncDirectory(path: string): Promise<void>;

  /** The names in a folder. */
  list(path: string): Promise<readonly string[]>;

  /** Resolves with the free bytes of the file system. Rejects if it does not report them. */
  freeBytes(path: string): Promise<number>;

  /** Takes a lock that one process can hold. Resolves with undefined if another one holds it. */
  lock(path: string, attributes?: FileAttributes): Promise<DiskLock | undefined>;
}

/** Mode and owner of a new file. */
export interface FileAttributes {
  /** The permission bits; by default for its owner only. */
  readonly mode?: number | undefined;
  /** The owner. It is set only if the process runs as root. */
  readonly owner?: FileOwner | undefined;
}

export interface FileOwner {
  readonly user: number;
  readonly group: number;
}

export interface DiskFile {
  /** Reads up to `length` bytes. Resolves with their number, which is 0 at the file's end. */
  read(bytes: Buffer, offset: number, length: number, position: number): Promise<number>;

  /** Writes some of the bytes, and resolves with how many. */
  write(bytes: Buffer, offset: number, position: number): Promise<number>;

  /** As `write`, but synchronous, for a few bytes that only go to the page cache. */
  writeNow(bytes: Buffer, offset: number, position: number): number;

  /** Makes the content durable. After a failure this process must not call it for this file. */
  sync(): Promise<void>;

  truncate(length: number): Promise<void>;

  /** Returns the open file's state, though it may have no name any more. */
  stat(): FileStat;

  close(): Promise<void>;
}

export interface FileStat {
  readonly isFile: boolean;
  readonly sizeBytes: number;
  /** The permission bits. */
  readonly mode: number;
  readonly owner: FileOwner;
  /** Which file it is: the device and the number on it. */
  readonly device: bigint;
  readonly number: bigint;
  /** How many names lead to it. */
  readonly links: number;
  /** When its content last changed, in nanoseconds. */
  readonly changedAt: bigint;
}

export interface DiskLock {
  /** The file whose lock is held. */
  stat(): FileStat;
  release(): Promise<void>;
}
