/**
 * The lock of an open file, which keeps a second process away.
 *
 * It must end with its holder, even after a kill -9. A file with a process id outlives its process,
 * and another process, perhaps in another container, may get the same id. The kernel frees a lock
 * on an open file. Node cannot take such a lock, but the command `flock` (util-linux, busybox) can
 * lock an open file that it inherits, and the lock stays after flock has ended.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { messageOf } from '../base/logger.ts';

/** Takes the lock of an open file. Resolves with false if another one is in its way. */
export async function flock(fd: number, how: 'exclusive' | 'shared'): Promise<boolean> {
  const child = spawn('flock', [how === 'shared' ? '-sn' : '-n', '3'], {
    // The rest of the environment may have secrets.
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'pipe', fd],
  });
  const errorOutput: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errorOutput.push(chunk));
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const cause = isMissing ? 'is not installed' : `cannot be run: ${messageOf(error)}`;
    throw new Error(`The command flock, which keeps a second process away, ${cause}`);
  })) as [number | null];
  if (code === 0) return true;
  // flock prints nothing if another process has the lock, and an error if it could not try.
  const said = Buffer.concat(errorOutput).toString().trim();
  if (code === 1 && said === '') return false;
  throw new Error(`The command flock failed (${code}): ${said}`);
}
