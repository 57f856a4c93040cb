/**
 * Faults in a real process, which loads this module by `node --import`: `fdatasync` fails or hangs
 * as the file in FAULT_FILE says at the time of the call, and timers run FASTER times as fast. If
 * that is less than 1, only those of a second or more run slower: they are deadlines.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { FAULT_FILE = '', FASTER = '1' } = process.env;
const { fdatasync } = fs;

type Callback = (error: NodeJS.ErrnoException | null) => void;

function faultyFdatasync(fd: number, callback: Callback): void {
  const fault = fs.existsSync(FAULT_FILE) ? fs.readFileSync(FAULT_FILE, 'utf8') : 'none';
  if (fault === 'none') fdatasync(fd, callback);
  if (fault === 'EIO') {
    const error = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
    setImmediate(() => callback(error));
  }
}

fs.fdatasync = faultyFdatasync as typeof fs.fdatasync;
// Named imports see the change, too.
syncBuiltinESMExports();

for (const name of ['setTimeout', 'setInterval'] as const) {
  const original = globalThis[name] as (callback: () => void, ms?: number) => NodeJS.Timeout;
  const faster = (callback: () => void, ms = 0): NodeJS.Timeout =>
    original(callback, ms / (ms < 1_000 ? Math.max(1, Number(FASTER)) : Number(FASTER)));
  Object.assign(globalThis, { [name]: faster });
}
