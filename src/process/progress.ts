/** Shows on a terminal how far a command is with a large data file. */

import type { Disk } from '../core/store/disk.ts';
import { nodeDisk } from '../core/store/node-disk.ts';

/** How much is read or written before it is shown how far that is. */
const SHOWN_BYTES: number = 16 << 20;

/** Returns the real disk, which also calls `show` while a large file is read or written. */
export function diskWithProgress(show: (text: string) => void): Disk {
  return {
    ...nodeDisk,
    async open(path, how, attributes) {
      const file = await nodeDisk.open(path, how, attributes);
      const { sizeBytes } = file.stat();
      let shown = '';
      const showOnce = (position: number, text: string): void => {
        if (position >= SHOWN_BYTES && text !== shown) show(text);
        shown = text;
      };
      return {
        ...file,
        read(bytes, position) {
          showOnce(position, `Reading ${path}: ${Math.floor((100 * position) / sizeBytes)} % `);
          return file.read(bytes, position);
        },
        write(bytes, position) {
          showOnce(position, `Writing ${path}: ${Math.floor(position / 2 ** 20)} MiB `);
          return file.write(bytes, position);
        },
      };
    },
  };
}
