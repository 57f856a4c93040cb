/**
 * Faults in a real process, which loads this module by `node --import`: `fdatasync` fails or hangs
 * as the file in FAULT_FILE says at the time of the call, and timers run FASTER times as fast. If
 * that is less than 1, only those of a second or more run slower: they are deadlines.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import promises from 'node:timers/promises';

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
  // Nobody writes to the pipe: a thread waits for ever, as in a call of a disk that hangs.
  if (fault === 'hang') fs.open(`${FAULT_FILE}.pipe`, 'r', () => callback(null));
}

fs.fdatasync = faultyFdatasync as typeof fs.fdatasync;

const now = performance.now.bind(performance);
performance.now = () => now() * Number(FASTER);
/** How long a timer takes here. */
function shown(ms: number): number {
  return ms / (ms < 1_000 ? Math.max(1, Number(FASTER)) : Number(FASTER));
}

for (const name of ['setTimeout', 'setInterval'] as const) {
  const original = globalThis[name] as (callback: () => void, ms?: number) => NodeJS.Timeout;
  const faster = (callback: () => void, ms = 0): NodeJS.Timeout => original(callback, shown(ms));
  Object.assign(globalThis, { [name]: faster });
}
const sleep = promises.setTimeout;
promises.setTimeout = ((ms = 0, ...rest: []) => sleep(shown(ms), ...rest)) as typeof sleep;

// Named imports see the changes, too.
syncBuiltinESMExports();
