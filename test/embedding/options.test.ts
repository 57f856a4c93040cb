/** The options of an app: everything that is wrong with them is in one TypeError. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp, type App } from '../../src/app.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY } from '../support/http/service.ts';

const store = createMemoryStore();
const create = (options: object): App => createApp({ store, apiKeys: [KEY], ...options });

const UNREADABLE: object = {
  get [Symbol.toStringTag](): string {
    throw new Error('Not for you');
  },
};

const RUNTIME = 'runtime: expected an object with nodeVersion and openConnections';
const FILE = 'dataFile: expected a path or a file: URL';
const NO_STRING = 'apiKeys[0]: a key must be a string';

/** Options beside a store and an API key, and the message, or how it begins before `…`. */
const WRONG: readonly (readonly [options: object, message: string])[] = [
  [{ apiKeys: undefined }, 'apiKeys: expected an array of keys'],
  [{ apiKeys: 'a-key' }, 'apiKeys: expected an array of keys'],
  [{ apiKeys: [] }, 'apiKeys: expected one key at least'],
  [{ apiKeys: [undefined] }, NO_STRING],
  [{ apiKeys: [['k']] }, NO_STRING],
  [{ apiKeys: [, 'k', ,] }, `${NO_STRING}; apiKeys[2]: a key must be a string`],
  [{ apiKeys: Array(1001).fill('k') }, 'apiKeys: expected at most 1000 keys'],
  [{ apiKeys: [{ key: 'k', name: 7 }] }, 'apiKeys[0]: a name must be a string'],
  [{ apiKeys: [{ key: 'k', name: 'sha256' }] }, 'apiKeys[0]: a name must not be sha256'],
  [{ apiKeys: [{ key: 'k', only: 'pets' }] }, "apiKeys[0]: only must be 'metrics'"],
  [{ apiKeys: [{ key: 'k', x: 1 }] }, 'apiKeys[0]: unknown option x of a key'],
  [{ apiKeys: ['k', { key: 'k' }] }, 'apiKeys[1]: the key is configured already (apiKeys[0])'],
  [{ corsOrigins: '*' }, 'corsOrigins: expected an array of origins, not "*"'],
  [{ corsOrigins: [Object.create(null)] }, 'corsOrigins[0]: expected an origin such as …'],
  [{ corsOrigins: ['*', ['https://a.example']] }, 'corsOrigins[1]: expected an origin such as …'],
  [{ corsOrigins: [,] }, 'corsOrigins[0]: expected an origin such as …'],
  // Newer versions of Node.js can show it.
  [{ prefix: UNREADABLE }, 'prefix: expected segments such as /shop, not …'],
  [{ log: console }, 'log: expected a function, not Object…'],
  [{ now: 5 }, 'now: expected a function, not 5'],
  [{ accessLog: 'on' }, 'accessLog: expected true or false, not "on"'],
  [{ runtime: 1 }, `${RUNTIME}, not 1`],
  [{ runtime: {} }, `${RUNTIME}, not {}`],
  [
    { store: {} },
    'store: expected a PetStore, but it has no list, get, create, count, problem, close',
  ],
  [{ store: { ...store, get: 1 } }, 'store: expected a PetStore, but it has no get'],
  [{ store: undefined }, 'dataFile, memory, etcd, store: expected exactly one of them, not 0'],
  ...[{}, [], { datafile: 'pets.json' }].map(
    (memory) =>
      [
        { store: undefined, memory },
        'memory: expected true or an object with dataFile, not …',
      ] as const,
  ),
  [
    { store: undefined, memory: { dataFile: 'pets.json', limit: 1 } },
    'memory.limit: unknown option, did you mean dataFile?',
  ],
  [{ apiKey: 'k' }, 'apiKey: unknown option, did you mean apiKeys?'],
  [
    { store: undefined, etcd: { endpoints: ['http://e:1'] }, bodyLimitBytes: 1_048_577 },
    'bodyLimitBytes: expected at most 1048576 on etcd, not 1048577',
  ],
  [{ store: undefined, dataFile: 7 }, `${FILE}, not 7`],
  [{ store: undefined, dataFile: '' }, `${FILE}, not ""`],
  [{ store: undefined, dataFile: new URL('http://a/b') }, `${FILE}, not URL…`],
  [{ store: undefined, dataFile: 'file://host/x' }, `${FILE}, not "file://host/x"`],
  ...[-1, 1.5, NaN, Infinity, '65536'].map(
    (bodyLimitBytes) =>
      [{ bodyLimitBytes }, 'bodyLimitBytes: expected an integer from 1 to 5242880, not …'] as const,
  ),
  [
    {
      dataFile: new URL('file://host/x'),
      apiKeys: ['good', 'not good', ''],
      prefix: 'shop',
      corsOrigins: ['https://a.example', '*', 'https://a.example/'],
      bodyLimitBytes: 0,
    },
    [
      'apiKeys[1]: a key must be of visible ASCII characters, without a space',
      'apiKeys[2]: a key must not be empty',
      'prefix: expected segments such as /shop, not "shop"',
      'bodyLimitBytes: expected an integer from 1 to 5242880, not 0',
      'corsOrigins[2]: expected an origin such as https://shop.example, or *, not "https://a.example/"',
      'dataFile, memory, etcd, store: expected exactly one of them, not 2',
      `${FILE}, not URL…`,
    ].join('; '),
  ],
];

for (const [options, message] of WRONG) {
  test(`An app is not created with wrong options: ${message}`, () => {
    assert.throws(
      () => create(options),
      (error: Error) => {
        assert.equal(error.name, 'TypeError');
        const [start = '', end] = message.split('…');
        const text = end === undefined ? error.message : error.message.slice(0, start.length);
        assert.equal(text, start);
        return true;
      },
    );
  });
}

test('An app is not created without an object of options', () => {
  assert.throws(() => createApp(undefined as never), /^TypeError: Expected an object of options$/);
});

test('setApiKeys refuses what createApp refuses', () => {
  const app = create({});
  for (const keys of [[], ['a b'], [7], 'k', ['k', 'k'], [{ key: 'k', name: '' }]]) {
    assert.throws(() => app.setApiKeys(keys as string[]), /^TypeError: apiKeys/);
  }
});
