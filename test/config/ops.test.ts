/** The settings for operators: the access log, and CORS. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read, testMistakes, testSetting } from './read.ts';

const SHOP = 'https://shop.example';
const BOTH = ['http://a.example:8000', 'https://b.example'];

testSetting(['accessLog', { on: true, off: false }, 'on or off', ['yes', 'true']]);
testSetting([
  'corsOrigins',
  { '*': ['*'], [SHOP]: [SHOP], [BOTH.join(', ')]: BOTH },
  'an origin such as https://shop.example, or *',
  ['*,shop.example', '*,data:x', '*,'],
]);

test('By default there is no access log, and no origin is allowed', async () => {
  const { accessLog, corsOrigins } = (await read({}, [])).config.options;
  assert.deepEqual([accessLog, corsOrigins], [false, []]);
  assert.equal((await read({}, ['--access-log', '--memory'])).options['accessLog'], true);
});

const IN_ORIGIN = '--cors-origin must be https://shop.example, not';

testMistakes([
  ['--cors-origin *,https://shop.example/', `${IN_ORIGIN} "https://shop.example/"`],
  ['--cors-origin HTTPS://me:secret@shop.example', `${IN_ORIGIN} "HTTPS://…@shop.example"`],
]);
