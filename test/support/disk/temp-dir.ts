/** A new directory for one test or file, removed when that is over. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function tempDir(context: { after(hook: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'petstore-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
