/** A Disk in memory for tests that look at its files: the simulated one, without faults. */

import { createFile, overwriteFile, FOLDER } from '../../simulation/disk-image.ts';
import { SimulatedDisk, systemError } from '../../simulation/simulated-disk.ts';

export { systemError };

export type MemoryDisk = ReturnType<typeof createMemoryDisk>;

export function createMemoryDisk(files: Readonly<Record<string, string | Buffer>> = {}) {
  const simulated = new SimulatedDisk();
  const disk = {
    ...simulated.startProcess(),
    /** The files' contents by path, as latin1 text: a character for each byte. */
    contents(): Record<string, string> {
      const paths = [...simulated.image.names].filter(([, id]) => id !== FOLDER);
      return Object.fromEntries(paths.map(([path]) => [path, disk.read(path).toString('latin1')]));
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
      disk.edit(path, content);
    },
    /** Gives a file another content in its place. */
    edit(path: string, content: string | Buffer): void {
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
    Object.fromEntries(Object.keys(memory.contents()).map((path) => [path, memory.read(path)])),
  );
}
