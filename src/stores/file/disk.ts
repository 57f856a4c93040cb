/**
 * Disk: every file operation that the store needs, and no more.
 *
 * The store takes it from outside, so that the tests can run it on a simulated disk which fails,
 * stops or forgets at any operation. node-disk.ts is the real one. Each operation may reject with
 * an error that carries a system `code` (ENOSPC, EIO …); one that rejects may have taken effect all
 * the same.
 */

export interface Disk {
  /** For names that no other process uses. */
  readonly processId: number;

  /**
   * `read` opens a file as it is, `edit` for reading and writing; `create` makes one that must not
   * be there yet.
   */
  open(
    path: string,
    how: 'read' | 'edit' | 'create',
    attributes?: FileAttributes,
  ): Promise<DiskFile>;

  /** What is at the path, undefined when nothing is; at once, since it only asks the system. */
  stat(path: string): FileStat | undefined;

  /** The path with every symbolic link followed; the last name need not exist. */
  resolve(path: string): Promise<string>;

  /** Makes the folder and those above it, where they are missing. */
  makeDirectory(path: string): Promise<void>;

  rename(from: string, to: string): Promise<void>;

  /** Gives the file a second name, which must not be there yet. */
  link(from: string, to: string): Promise<void>;

  /** Removes the file; that there is none is no error. */
  remove(path: string): Promise<void>;

  /** Makes the folder's entries durable: files and folders made, renamed and removed in it. */
  syncDirectory(path: string): Promise<void>;

  /** The names in a folder. */
  list(path: string): Promise<readonly string[]>;

  /** How many bytes may still be written to the file system; rejects if it does not tell. */
  freeBytes(path: string): Promise<number>;

  /** Takes the lock that only one open process can hold; undefined when another holds it. */
  lock(path: string, attributes?: FileAttributes): Promise<DiskLock | undefined>;
}

/** How a new file is made. */
export interface FileAttributes {
  /** The permission bits; for its owner only, unless given. */
  readonly mode?: number | undefined;
  /** Whose it is to be, where the process may decide that. */
  readonly owner?: FileOwner | undefined;
}

export interface FileOwner {
  readonly user: number;
  readonly group: number;
}

export interface DiskFile {
  /** Reads up to `length` bytes into the buffer; 0 at the end of the file. */
  read(bytes: Buffer, offset: number, length: number, position: number): Promise<number>;

  /** Writes some of the bytes, at least one, and returns how many. */
  write(bytes: Buffer, offset: number, position: number): Promise<number>;

  /** `write` at once, for what is short and only goes to the system's cache. */
  writeNow(bytes: Buffer, offset: number, position: number): number;

  /** Makes the content durable; after a failure it must never be tried again on this file. */
  sync(): Promise<void>;

  truncate(length: number): Promise<void>;

  /** What the open file is now; its name may be gone. */
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
  /** How many names it has; 0 when it is open only. */
  readonly links: bigint;
  /** When its content was changed last, in nanoseconds. */
  readonly changedAt: bigint;
}

export interface DiskLock {
  /** The file whose lock is held. */
  stat(): FileStat;
  release(): Promise<void>;
}
