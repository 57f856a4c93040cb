/** The options of an app: everything that is wrong with them is in one TypeError. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp, type App } from '../../src/app/app.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY } from '../support/http/service.ts';

const store = createMemoryStore();
const create = (options: object): App => createApp({ store, apiKeys: [KEY], ...options });

const UNREADABLE: object = {
  get [Symbol.toStringTag](): string {
    throw new Error('Not for you');
  },
};

const RUNTIME = 'runtime must be an object with nodeVersion and openConnections';
const FILE = 'dataFile must be the path of a file, without a slash at its end, or its file: URL';
const NO_STRING = 'apiKeys[0] must have a string as its key';

/** Options beside a store and an API key, and the message, or how it begins before `…`. */
const WRONG: readonly (readonly [options: object, message: string])[] = [
  [{ apiKeys: undefined }, 'apiKeys is required'],
  [{ apiKeys: 'a-key' }, 'apiKeys must be an array of API keys'],
  [{ apiKeys: [] }, 'apiKeys must have at least one API key'],
  [{ apiKeys: [undefined] }, NO_STRING],
  [{ apiKeys: [, 'k', ,] }, `${NO_STRING}; apiKeys[2] must have a string as its key`],
  [{ apiKeys: [{ key: 'k', name: 7 }] }, 'apiKeys[0] has a name, which must be a string'],
  [{ apiKeys: [{ key: 'k', only: 'pets' }] }, "apiKeys[0] has another only than 'metrics'"],
  [{ apiKeys: [{ key: 'k', x: 1 }] }, 'apiKeys[0] has the unknown option x'],
  [{ corsOrigins: '*' }, 'corsOrigins must be an array of origins, not "*"'],
  [{ corsOrigins: [Object.create(null)] }, 'corsOrigins[0] must be an origin such as …'],
  [{ corsOrigins: ['*', ['https://a.example']] }, 'corsOrigins[1] must be an origin such as …'],
  [{ corsOrigins: [,] }, 'corsOrigins[0] must be an origin such as …'],
  // Newer versions of Node.js can show it.
  [{ prefix: UNREADABLE }, 'prefix must be segments such as /shop, not …'],
  [{ log: console }, 'log must be a function, not Object…'],
  [{ now: 5 }, 'now must be a function, not 5'],
  [{ accessLog: 'on' }, 'accessLog must be true or false, not "on"'],
  [{ runtime: 1 }, `${RUNTIME}, not 1`],
  [{ runtime: {} }, `${RUNTIME}, not {}`],
  [
    { store: {} },
    'store must be a PetStore, but it has no list, get, create, count, problem, close',
  ],
  [{ store: { ...store, get: 1 } }, 'store must be a PetStore, but it has no get'],
  [{ store: undefined }, 'dataFile is required, or memory, etcd or store'],
  ...[{}, [], { datafile: 'pets.json' }].map(
    (memory) =>
      [
        { store: undefined, memory },
        'memory must be true or an object with dataFile, not …',
      ] as const,
  ),
  [
    { store: undefined, memory: { dataFile: 'pets.json', limit: 1 } },
    'memory.limit is not an option, did you mean dataFile?',
  ],
  [{ apiKey: 'k' }, 'apiKey is not an option, did you mean apiKeys?'],
  [
    { store: undefined, etcd: { endpoint: 'http://e:1' } },
    'etcd.endpoint is not an option, did you mean endpoints?; etcd.endpoints must be 1 to 100 URLs …',
  ],
  [
    { store: undefined, etcd: 'http://u:pw@e' },
    'etcd must be an object with endpoints, not "http://…@e"',
  ],
  [
    { store: undefined, etcd: { endpoints: [{ url: 'http://u:pw@e' }] } },
    "etcd.endpoints must be URLs such as http://127.0.0.1:2379, without a path or a password, not { url: 'http://…@e' }",
  ],
  [{ store: undefined, dataFile: 7 }, `${FILE}, not 7`],
  [{ store: undefined, dataFile: '' }, `${FILE}, not ""`],
  [{ store: undefined, dataFile: new URL('http://a/b') }, `${FILE}, not "http://a/b"`],
  ...[-1, 1.5, NaN, Infinity, '65536', Symbol('1'), 1n].map(
    (bodyLimitBytes) =>
      [{ bodyLimitBytes }, 'bodyLimitBytes must be an integer from 1 to 5242880, not …'] as const,
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
      `${FILE}, not "file://host/x"`,
      'apiKeys[1] must be of visible ASCII characters, without a space',
      'apiKeys[2] must not be empty',
      'prefix must be segments such as /shop, not "shop"',
      'bodyLimitBytes must be an integer from 1 to 5242880, not 0',
      'corsOrigins[2] must be https://a.example, not "https://a.example/"',
      'store cannot be combined with dataFile',
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
  assert.throws(() => createApp('a-key' as never), /^TypeError: options must be an object$/);
});

test('setApiKeys refuses what createApp refuses', () => {
  const app = create({});
  for (const keys of [[], ['a b'], [7], 'k', ['k', 'k'], [{ key: 'k', name: '' }]]) {
    assert.throws(() => app.setApiKeys(keys as string[]), /^TypeError: apiKeys/);
  }
});
