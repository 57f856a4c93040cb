/** A new directory for one test or file, removed when that is over. */

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function tempDir(context: { after(hook: () => void): void }): string {
  // On macOS the system's folder is a symbolic link, and a child process sees the real path.
  const path = mkdtempSync(join(realpathSync(tmpdir()), 'petstore-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
