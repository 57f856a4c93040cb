/** The page of the process: the greeting names it, unless it is off. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFor } from '../support/process/process.ts';

test('The greeting names the page, and --page=off removes it, and the reference', async (t) => {
  for (const [args, status, line] of [
    [[], 200, 'Open %/ in a browser, or add a pet, then list the pets:'],
    [['--page=off'], 404, 'Add a pet, then list the pets:'],
  ] as const) {
    const service = startFor(t, ['--port=0', '--memory', ...args], { env: {} });
    const url = await service.ready();
    assert.ok((await service.greeting()).split('\n').includes(line.replace('%', url)));
    for (const path of ['/', '/docs']) assert.equal((await fetch(url + path)).status, status);
  }
});
