/** A process that opens the store at the given path, prints `open`, and holds it until it ends. */

import { openFileStore } from '../../../src/stores/file/file-store.ts';

try {
  await openFileStore({ path: process.argv[2]! });
  console.log('open');
  process.stdin.resume();
} catch (error) {
  console.log((error as Error).message);
}
