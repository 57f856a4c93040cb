/**
 * The settings for operators: the access log, and CORS. And the options of an app, with all that is
 * wrong in one TypeError.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testWrongOptions } from '../embedding/wrong-options.ts';
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

const RUNTIME = 'runtime must be an object with nodeVersion and openConnections';
const ORIGIN = 'must be an origin such as https://shop.example, or *';

testWrongOptions([
  [{ apiKeys: [{ key: 'k', only: 'pets' }] }, "apiKeys[0] has another only than 'metrics'"],
  [{ corsOrigins: '*' }, 'corsOrigins must be an array of origins, not "*"'],
  ...[Object.create(null) as object, 'https://*.example', ['https://a.example'], undefined].map(
    (origin) =>
      [
        { corsOrigins: [, '*', origin] },
        `corsOrigins[0] ${ORIGIN}; corsOrigins[2] ${ORIGIN}…`,
      ] as const,
  ),
  [{ accessLog: 'on' }, 'accessLog must be true or false, not "on"'],
  [{ runtime: 1 }, `${RUNTIME}, not 1`],
  [{ runtime: {} }, `${RUNTIME}, not an object`],
]);
