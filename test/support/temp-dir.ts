/** A new directory for one test, removed when the test is over. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export function tempDir(context: Pick<TestContext, 'after'>): string {
  const path = mkdtempSync(join(tmpdir(), 'petstore-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
