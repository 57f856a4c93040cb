/**
 * The plainest Disk: files in memory, without directories, links or faults.
 *
 * As on a real one, an open file stays what it is when its name is taken by another or removed.
 */

import type { Disk, DiskFile } from '../../src/storage/disk.ts';

export interface MemoryDisk extends Disk {
  /** The files' contents by path, as latin1 text: a character for each byte. */
  contents(): Record<string, string>;
  /** The file's bytes; throws when there is none. */
  read(path: string): Buffer;
  /** Puts a file in place, or replaces it. */
  write(path: string, content: string | Buffer, mode?: number): void;
}

export function createMemoryDisk(
  files: Readonly<Record<string, string | Buffer>> = {},
): MemoryDisk {
  const entries = new Map<string, Content>();
  const locked = new Set<string>();
  const entryAt = (path: string): Content => {
    const entry = entries.get(path);
    if (entry === undefined) throw systemError('ENOENT', path);
    return entry;
  };
  const disk: MemoryDisk = {
    contents() {
      const texts = [...entries].map(([path, entry]) => [path, entry.read().toString('latin1')]);
      return Object.fromEntries(texts) as Record<string, string>;
    },
    read: (path) => Buffer.from(entryAt(path).read()),
    write(path, content, mode) {
      const entry = new Content(mode);
      entry.write(typeof content === 'string' ? Buffer.from(content) : content, 0);
      entries.set(path, entry);
    },
    async open(path, how, mode) {
      if (how !== 'create') return openContent(entryAt(path));
      if (entries.has(path)) throw systemError('EEXIST', path);
      const entry = new Content(mode);
      entries.set(path, entry);
      return openContent(entry);
    },
    async stat(path) {
      const entry = entries.get(path);
      return entry && { isFile: true, sizeBytes: entry.length, mode: entry.mode };
    },
    resolve: async (path) => path,
    makeDirectory: async () => undefined,
    async rename(from, to) {
      const entry = entryAt(from);
      entries.delete(from);
      entries.set(to, entry);
    },
    async remove(path) {
      entries.delete(path);
    },
    syncDirectory: async () => undefined,
    async lock(path) {
      if (locked.has(path)) return undefined;
      locked.add(path);
      if (!entries.has(path)) entries.set(path, new Content());
      return { release: async () => void locked.delete(path) };
    },
  };
  for (const [path, content] of Object.entries(files)) disk.write(path, content);
  return disk;
}

/** An error as node:fs throws it. */
export function systemError(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code });
}

class Content {
  readonly mode: number;
  length = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(mode = 0o644) {
    this.mode = mode;
  }

  read(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  write(bytes: Buffer, position: number): void {
    const end = position + bytes.length;
    if (end > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.read()], Math.max(end, 2 * this.#bytes.length));
    }
    bytes.copy(this.#bytes, position);
    this.length = Math.max(this.length, end);
  }

  truncate(length: number): void {
    // Beyond the end are zeros, should the file grow again.
    this.#bytes = Buffer.concat([this.read()], length);
    this.length = length;
  }
}

function openContent(content: Content): DiskFile {
  const writeNow: DiskFile['writeNow'] = (bytes, offset, position) => {
    content.write(bytes.subarray(offset), position);
    return bytes.length - offset;
  };
  return {
    read: async (bytes, offset, length, position) =>
      content.read().copy(bytes, offset, position, position + length),
    write: async (bytes, offset, position) => writeNow(bytes, offset, position),
    writeNow,
    sync: async () => undefined,
    truncate: async (length) => content.truncate(length),
    close: async () => undefined,
  };
}
