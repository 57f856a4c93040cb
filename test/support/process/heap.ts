/** The memory of this process, for tests that hold it to a bound. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes in use, in the heap and outside, after a collection. */
export function usedBytes(): number {
  // The memory of buffers that one collection frees is counted until the next.
  for (let i = 0; i < 2; i += 1) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
