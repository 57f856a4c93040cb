/** A Disk in memory for tests that look at its files: the simulated one, without faults. */

import { createFile, overwriteFile, FOLDER } from '../../simulation/disk-image.ts';
import { SimulatedDisk, systemError } from '../../simulation/simulated-disk.ts';

export { systemError };

export type MemoryDisk = ReturnType<typeof createMemoryDisk>;

export function createMemoryDisk(files: Readonly<Record<string, string | Buffer>> = {}) {
  const simulated = new SimulatedDisk();
  const disk = {
    ...simulated.startProcess(),
    /** The files' paths. */
    paths(): readonly string[] {
      const { names } = simulated.image;
      return [...names.keys()].filter((path) => names.get(path) !== FOLDER);
    },
    /** The files' contents by path, as latin1 text: a character for each byte. */
    contents(): Record<string, string> {
      const entries = disk.paths().map((path) => [path, disk.read(path).toString('latin1')]);
      return Object.fromEntries(entries) as Record<string, string>;
    },
    /** The file's bytes; throws when there is none. */
    read(path: string): Buffer {
      const id = simulated.image.names.get(path);
      if (id === undefined) throw systemError('ENOENT', path);
      return Buffer.from(simulated.image.files.get(id)!.cached);
    },
    /** Puts a file in place, or replaces it. */
    write(path: string, content: string | Buffer, mode = 0o600): void {
      simulated.image = createFile(simulated.image, path, mode);
      const id = simulated.image.names.get(path)!;
      simulated.image = overwriteFile(simulated.image, id, Buffer.from(content as string));
    },
  };
  for (const [path, content] of Object.entries(files)) disk.write(path, content);
  return disk;
}

/** The files as they are now, without the process that uses them. */
export function copyOf(memory: MemoryDisk): MemoryDisk {
  return createMemoryDisk(
    Object.fromEntries(memory.paths().map((path) => [path, memory.read(path)])),
  );
}
