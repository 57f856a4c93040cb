/**
 * Disk: every file operation that the storage needs, and no more.
 *
 * The storage takes it from outside, so that the tests can run it on a simulated disk which fails,
 * stops or forgets at any operation. node-disk.ts is the real one. Each operation may reject with
 * an error that carries a system `code` (ENOSPC, EIO …); nothing else is assumed of it.
 */

export interface Disk {
  /**
   * `read` opens a file as it is, `edit` for reading and writing; `create` makes one that must not
   * be there yet, with `mode` where given. When it rejects, it has made none.
   */
  open(path: string, how: 'read' | 'edit' | 'create', mode?: number): Promise<DiskFile>;

  /** What is at the path, undefined when nothing is. */
  stat(path: string): Promise<DiskEntry | undefined>;

  /** The path with every symbolic link followed; the last name need not exist. */
  resolve(path: string): Promise<string>;

  /** Makes the folder and those above it, where they are missing. */
  makeDirectory(path: string): Promise<void>;

  rename(from: string, to: string): Promise<void>;

  /** Removes the file; that there is none is no error. */
  remove(path: string): Promise<void>;

  /** Makes the folder's entries durable: files created, renamed and removed in it. */
  syncDirectory(path: string): Promise<void>;

  /** Takes the lock that only one open process can hold; undefined when another holds it. */
  lock(path: string): Promise<DiskLock | undefined>;
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

  close(): Promise<void>;
}

export interface DiskEntry {
  readonly isFile: boolean;
  readonly sizeBytes: number;
  /** The permission bits. */
  readonly mode: number;
}

export interface DiskLock {
  release(): Promise<void>;
}
