/** The setting of the page. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read, testSetting } from './read.ts';

testSetting(['page', { on: true, off: false }, 'on or off', ['no']]);

test('By default there is a page', async () => {
  assert.equal((await read({}, [])).config.options.page, true);
});
