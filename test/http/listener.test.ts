/** The listener on an API of its own: the way of a request in handle-request.ts, step by step. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouter } from '../../src/core/http/router.ts';
import { LISTENER_CASES, runListenerCase } from './listener-cases.ts';
import { importHttp } from './modules.ts';

const http = await importHttp();

for (const [name, run] of Object.entries(LISTENER_CASES)) {
  test(name, (t) => runListenerCase(t, http, run));
}

test('Operations of one path that need different API keys are refused', () => {
  const operations = ([true, 'figures'] as const).map((needsKey) => {
    return {
      name: 'x',
      method: 'GET',
      path: '/x',
      needsKey,
      handle: async () => assert.fail(),
    } as const;
  });
  assert.throws(() => createRouter(operations, ''), /^Error: All operations of \/x need the same/);
});
