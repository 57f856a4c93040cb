/** The options of an app: everything that is wrong with them is in one TypeError. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp, type App } from '../../src/app.ts';
import { createHttpServer, stopServer } from '../../src/index.ts';
import { testConformance } from '../../src/extras/kit/conformance.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { KEY } from '../support/http/service.ts';

const store = createMemoryStore();
const create = (options: object): App => createApp({ store, apiKeys: [KEY], ...options });
const withoutStore = (options: object): object => ({ store: undefined, ...options });

const FILE = 'dataFile must be the path of a file, without a slash at its end, or its file: URL';
const NO_STRING = 'must have a string as its key';
const RUNTIME = 'runtime must be an object with nodeVersion and openConnections';
const STORE = 'store must be a PetStore with list, get, create, count, problem and close';
const LIMIT = 'bodyLimitBytes must be an integer from 1 to 5242880, not …';
const ORIGIN = 'must be an origin such as https://shop.example, or *';
const PREFIX = 'prefix must be segments such as /shop, not …';

/** Options beside a store and an API key, and the message, or how it begins before `…`. */
const WRONG: readonly (readonly [options: object, message: string])[] = [
  [{ apiKeys: undefined }, 'apiKeys must be an array of API keys'],
  [{ apiKeys: 'a-key' }, 'apiKeys must be an array of API keys'],
  [{ apiKeys: [] }, 'apiKeys must have at least one API key'],
  [{ apiKeys: [, 'k', undefined] }, `apiKeys[0] ${NO_STRING}; apiKeys[2] ${NO_STRING}`],
  [{ apiKeys: [{ key: 'k', name: 7 }] }, 'apiKeys[0] has a name, which must be a string'],
  [{ apiKeys: [{ key: 'k', only: 'pets' }] }, "apiKeys[0] has another only than 'metrics'"],
  [{ apiKeys: [{ key: 'k', x: 1 }] }, 'apiKeys[0] has the unknown option x'],
  [{ corsOrigins: '*' }, 'corsOrigins must be an array of origins, not "*"'],
  ...[Object.create(null) as object, 'https://*.example', ['https://a.example'], undefined].map(
    (origin) =>
      [
        { corsOrigins: [, '*', origin] },
        `corsOrigins[0] ${ORIGIN}; corsOrigins[2] ${ORIGIN}…`,
      ] as const,
  ),
  ...['/', '//shop', '/a b', '/..', '/a/.', '/{id}', '/%41', '/shop?x'].map(
    (prefix) => [{ prefix }, PREFIX] as const,
  ),
  [{ log: console }, 'log must be a function, not an object'],
  [{ now: 5 }, 'now must be a function, not 5'],
  [{ accessLog: 'on' }, 'accessLog must be true or false, not "on"'],
  [{ runtime: 1 }, `${RUNTIME}, not 1`],
  [{ runtime: {} }, `${RUNTIME}, not an object`],
  [{ store: {} }, `${STORE}, not an object`],
  [{ store: { ...store, get: 1 } }, `${STORE}, not …`],
  [withoutStore({}), 'dataFile is required, or memory, etcd or store'],
  [withoutStore({ memory: 'pets.json' }), 'memory must be true or an object with dataFile, not …'],
  [
    withoutStore({ memory: { datafile: 'x', dataFile: 7 } }),
    `memory.datafile is not an option; the options are dataFile; memory.${FILE}, not 7`,
  ],
  [{ apiKey: 'k' }, 'apiKey is not an option; the options are apiKeys, …'],
  [
    withoutStore({ etcd: { endpoint: 'http://e:1' } }),
    'etcd.endpoint is not an option; the options are endpoints, …; etcd.endpoints must be 1 to 100 URLs …',
  ],
  [
    withoutStore({ etcd: 'http://u:pw@e' }),
    'etcd must be an object with endpoints, not "http://…@e"',
  ],
  [
    withoutStore({ etcd: { endpoints: [new URL('http://e:1')] } }),
    'etcd.endpoints must be URLs such as http://127.0.0.1:2379, without a path or a password, not an object',
  ],
  ...[7, '', new URL('http://a/b')].map(
    (dataFile) => [withoutStore({ dataFile }), `${FILE}, not …`] as const,
  ),
  ...[-1, 1.5, NaN, Infinity, '65536', Symbol('1'), 1n].map(
    (bodyLimitBytes) => [{ bodyLimitBytes }, LIMIT] as const,
  ),
];

for (const [index, [options, message]] of WRONG.entries()) {
  test(`An app is not created with wrong options (${index}): ${message}`, () => {
    const [start = '', end] = message.split('…');
    const isRight = ({ name, message: text }: Error): boolean =>
      name === 'TypeError' && (end === undefined ? text === message : text.startsWith(start));
    assert.throws(() => create(options), isRight);
  });
}

test('An app is not created without an object of options', () => {
  assert.throws(() => createApp('a-key' as never), /^TypeError: options must be an object$/);
});

test('setApiKeys refuses what createApp refuses', () => {
  const app = create({});
  for (const keys of [[], ['a b'], [7], 'k', ['k', 'k'], [{ key: 'k', name: '' }]]) {
    assert.throws(() => app.setApiKeys(keys as string[]), /^TypeError: apiKeys/);
  }
});

test('An app as a listener, and other wrong arguments, are refused at the call', async () => {
  const app = create({});
  const listener = /^TypeError: The listener must be a function, such as app.listener, not an obj/;
  assert.throws(() => createHttpServer(app as never), listener);
  const limits = { maxConnection: 5 } as object;
  const message = /^TypeError: There is no limit maxConnection; the limits are headersTimeout, /;
  assert.throws(() => createHttpServer(app.listener, limits), message);
  await assert.rejects(
    stopServer(app as never, 10),
    /^TypeError: The server must be one of node:h/,
  );
  const server = createHttpServer(app.listener);
  await assert.rejects(stopServer(server, undefined as never), /^TypeError: drainMs must be a num/);
  const kit = { baseUrl: 'http://127.0.0.1/v1', key: KEY };
  const options = /^TypeError: The kit needs its options: \{ baseUrl, key \}$/;
  for (const wrong of [undefined, {}, { ...kit, key: 7 }, { ...kit, baseUrl: '/v1' }]) {
    assert.throws(() => testConformance(wrong as never), options);
  }
  const level = { ...kit, level: 'all' as 'http' };
  assert.throws(() => testConformance(level), /^RangeError: there is no level all$/);
});
