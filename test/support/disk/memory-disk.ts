/** A Disk in memory for tests that look at its files: the simulated one, without faults. */

import type { Disk } from '../../../src/stores/file/disk.ts';
import { createFile, overwriteFile, FOLDER } from '../../simulation/disk-image.ts';
import { SimulatedDisk, systemError } from '../../simulation/simulated-disk.ts';

export { systemError };

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
  const simulated = new SimulatedDisk();
  simulated.hasLinks = true;
  const read = (path: string): Buffer => {
    const id = simulated.image.names.get(path);
    if (id === undefined) throw systemError('ENOENT', path);
    return Buffer.from(simulated.image.files.get(id)!.cached);
  };
  const disk: MemoryDisk = {
    ...simulated.startProcess(),
    contents() {
      const paths = [...simulated.image.names].filter(([, id]) => id !== FOLDER);
      return Object.fromEntries(paths.map(([path]) => [path, read(path).toString('latin1')]));
    },
    read,
    write(path, content, mode = 0o600) {
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
    Object.fromEntries(Object.keys(memory.contents()).map((path) => [path, memory.read(path)])),
  );
}
