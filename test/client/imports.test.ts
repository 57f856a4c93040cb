/** What the client imports: browsers load it, too. */

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { readText } from '../support/project.ts';

test('What the client imports runs in browsers, also old ones: no Node.js, no power of a bigint', () => {
  const checked = new Set<string>();
  const visit = (file: string): void => {
    if (checked.has(file)) return;
    checked.add(file);
    const code = readText(`src/${file}`);
    assert.doesNotMatch(code, /from 'node:|\bBuffer[.(]/, file);
    // A compiler for an older target makes Math.pow of it.
    assert.doesNotMatch(code, /[0-9a-fA-F]n *\*\*/, file);
    // What is imported as a type only is not loaded.
    const loaded = code.matchAll(/^(?:import|export) (?!type\b)[^;]*?from '(\.[^']+)'/gm);
    for (const [, target] of loaded) visit(join(dirname(file), target!).replaceAll('\\', '/'));
  };
  visit('extras/client/client.ts');
  assert.ok(checked.has('core/base/int64.ts'));
});
