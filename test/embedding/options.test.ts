/** The options of an app: everything that is wrong with them is in one TypeError. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp } from '../../src/app.ts';
import { createHttpServer, stopServer } from '../../src/index.ts';
import { testConformance } from '../../src/extras/kit/conformance.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { KEY } from '../support/http/service.ts';
import { isTypeError, testWrongOptions, withoutStore } from './wrong-options.ts';

const store = createMemoryStore();

const FILE = 'dataFile must be the path of a file, without a slash at its end, or its file: URL';
const NO_STRING = 'must have a string as its key';
const STORE = 'store must be a PetStore, and has no';
const LIMIT = 'bodyLimitBytes must be an integer from 1 to 5242880, not …';
const PREFIX = 'prefix must be segments such as /shop, not …';

testWrongOptions([
  [{ apiKeys: undefined }, 'apiKeys must be an array of API keys'],
  [{ apiKeys: 'a-key' }, 'apiKeys must be an array of API keys'],
  [{ apiKeys: [] }, 'apiKeys must have at least one API key'],
  [{ apiKeys: [, 'k', undefined] }, `apiKeys[0] ${NO_STRING}; apiKeys[2] ${NO_STRING}`],
  [{ apiKeys: [{ key: 'k', name: 7 }] }, 'apiKeys[0] has a name, which must be a string'],
  [{ apiKeys: [{ key: 'k', x: 1 }] }, 'apiKeys[0] has the unknown option x'],
  ...['/', '//shop', '/a b', '/..', '/a/.', '/{id}', '/%41', '/shop?x'].map(
    (prefix) => [{ prefix }, PREFIX] as const,
  ),
  [{ log: console }, 'log must be a function, not an object'],
  [{ accessLog: true }, 'accessLog needs log'],
  [{ timeOfDay: 5 }, 'timeOfDay must be a function, not 5'],
  [{ store: {} }, `${STORE} list, get, create, count, unreadiness, close`],
  [{ store: { ...store, get: 1 } }, `${STORE} get`],
  [{ store: 'pets.db' }, 'store must be a PetStore, not …'],
  [
    { store: Promise.resolve(store) },
    `${STORE} list, get, create, count, unreadiness, close: it is a promise, so await it`,
  ],
  [withoutStore({}), 'dataFile is required, or memory, etcd or store'],
  [withoutStore({ memory: 'pets.json' }), 'memory must be true or an object with dataFile, not …'],
  [
    withoutStore({ memory: { datafile: 'x', dataFile: 7 } }),
    `memory.datafile is not an option; the options are dataFile; memory.${FILE}, not 7`,
  ],
  [{ apiKey: 'k' }, 'apiKey is not an option; the options are apiKeys, …'],
  ...[7, '', new URL('http://a/b')].map(
    (dataFile) => [withoutStore({ dataFile }), `${FILE}, not …`] as const,
  ),
  ...[-1, 1.5, NaN, Infinity, '65536', Symbol('1'), 1n].map(
    (bodyLimitBytes) => [{ bodyLimitBytes }, LIMIT] as const,
  ),
]);

test('An app is not created without an object of options', () => {
  assert.throws(() => createApp('a-key' as never), /^TypeError: options must be an object$/);
});

test('setApiKeys refuses what createApp refuses', () => {
  const app = createApp({ store, apiKeys: [KEY] });
  for (const keys of [[], ['a b'], [7], 'k', ['k', 'k'], [{ key: 'k', name: '' }]]) {
    assert.throws(() => app.setApiKeys(keys as string[]), /^TypeError: apiKeys/);
  }
});

test('An app as a listener, and other wrong arguments, are refused at the call', async () => {
  const app = createApp({ store, apiKeys: [KEY] });
  const listener = 'The listener must be a function, such as app.listener, not an obj…';
  assert.throws(() => createHttpServer(app as never), isTypeError(listener));
  for (const [limits, message] of [
    [{ maxConnection: 5 }, 'limits.maxConnection is not an option; the options are h…'],
    [{ maxConnections: 0 }, 'limits.maxConnections must be a number from 1 on, not 0'],
    [{ timeout: NaN }, 'limits.timeout must be a number from 0 on, not NaN'],
    [{ timeout: undefined }, 'limits.timeout must be a number from 0 on'],
    [{ timeout: '60' }, 'limits.timeout must be a number from 0 on, not "60"'],
    [{ headersTimeout: -1 }, 'limits.headersTimeout must be a number from 0 on, not -1'],
  ] as const) {
    assert.throws(() => createHttpServer(app.listener, limits as object), isTypeError(message));
  }
  const server = createHttpServer(app.listener);
  for (const [stop, message] of [
    [() => stopServer(app as never, 10), 'The server must be one of node:h…'],
    [() => stopServer(server, undefined as never), 'drainMs must be a num…'],
    [() => stopServer(server, 1, app as never), 'drain must be a function…'],
  ] as const) {
    await assert.rejects(stop, isTypeError(message));
  }
  const kit = { baseUrl: 'http://127.0.0.1/v1', key: KEY };
  for (const [wrong, message] of [
    [undefined, 'baseUrl must be a URL such as https://host/v1; key must be a string'],
    [{ ...kit, key: 7 }, 'key must be a string'],
    [{ ...kit, baseUrl: '/v1' }, 'baseUrl must be a URL such as https://host/v1, not "/v1"'],
    [{ ...kit, level: 'all' }, 'level must be interface, decisions, http, not "all"'],
    [{ ...kit, only: ['4.1', '6'] }, 'only must be an array of ids of checks, not "6"'],
    [
      { ...kit, expectedFailures: '4.1' },
      'expectedFailures must be an array of ids of checks, not "4.1"',
    ],
    [{ ...kit, categoryId: 1 }, 'categoryId must be a bigint of 64 bits, not 1'],
    [{ ...kit, timeoutMs: '9' }, 'timeoutMs must be a positive integer, not "9"'],
    [
      { ...kit, key: 7, isStrict: 'no' },
      'key must be a string; isStrict must be true or false, not "no"',
    ],
    [{ ...kit, headers: { 'X-Gate': 7 } }, 'headers must be an object of strings'],
    [{ ...kit, strict: true }, 'strict is not an option; the options are baseUrl, key,…'],
  ] as const) {
    assert.throws(() => testConformance(wrong as never), isTypeError(message));
  }
});
