/** The router's table. What it finds is shown by requests, in test/interface. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../../src/http/operation.ts';
import { createRouter } from '../../src/http/router.ts';

test('Operations of one path that need different API keys are refused', () => {
  const operation = (needsKey: Operation['needsKey'], path: string): Operation => {
    return { name: 'one', method: 'GET', path, needsKey, handle: () => assert.fail() };
  };
  const create = (path: string) => () => {
    return createRouter([operation('metrics', '/figures'), operation(true, path)], '');
  };
  assert.doesNotThrow(create('/pets'));
  assert.throws(create('/figures'), /^Error: All operations of \/figures need the same key$/);
});
