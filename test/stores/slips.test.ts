/**
 * Planted slips of the queue, the idempotency keys and the idempotent create, each with the case
 * of a script that must notice it.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
} from '../../src/core/pets/pet-store.ts';
import { CommitQueue } from '../../src/core/store/commit-queue.ts';
import { DataFile } from '../../src/core/store/data-file.ts';
import { FileStore } from '../../src/core/store/file-store.ts';
import { KeyedCreates } from '../../src/core/store/keyed-creates.ts';
import { IdempotencyKeys } from '../../src/core/store/idempotency-keys.ts';
import { PetTable } from '../../src/core/store/pet-table.ts';
import { beginStoreScript } from '../support/disk/store-script.ts';
import { inClass, type Change } from '../support/replaced-method.ts';
import { casesOf, runCase, titleOf } from '../support/script.ts';
import { isTried } from '../support/slips.ts';

/** A getter that returns this. */
function asValue(owner: { readonly prototype: object }, name: string, value: unknown): Change {
  return async (run) => {
    const original = Object.getOwnPropertyDescriptor(owner.prototype, name)!;
    Object.defineProperty(owner.prototype, name, { get: () => value, configurable: true });
    try {
      return await run();
    } finally {
      Object.defineProperty(owner.prototype, name, original);
    }
  };
}

const nothing = (): undefined => undefined;

/** Reports an unknown outcome as a refusal. */
const refusesUnknown = inClass(FileStore, 'createOnce', (createOnce) => async (...args) => {
  return createOnce(...args).catch((error: Error) => {
    throw error instanceof OutcomeUnknownError ? new StoreUnavailableError(error.message) : error;
  });
});

const replaysAny = inClass(FileStore, 'createOnce', (createOnce) => async (...args) => {
  return createOnce(...args).catch((error: Error) => {
    if (!(error instanceof KeyReusedError)) throw error;
    return { pet: { id: 2n, text: '' }, isReplayed: true };
  });
});

const hidesReplays = inClass(FileStore, 'createOnce', (createOnce) => async (...args) => {
  return { ...(await createOnce(...args)), isReplayed: false };
});

const addsWithBytes = (bytes: number): Change =>
  inClass(CommitQueue<unknown, unknown>, 'add', (add) => (item) => add(item, bytes));

const keepsFirst = inClass(IdempotencyKeys, 'add', (add, keys) => (key, ...rest) => {
  if (keys.find(key) === undefined) add(key, ...rest);
});

const refusals = new WeakMap<KeyedCreates, Map<string, Error>>();

const remembersRefusals = inClass(KeyedCreates, 'createOnce', (createOnce, self) => {
  const refused = refusals.get(self) ?? new Map<string, Error>();
  refusals.set(self, refused);
  return async (newPet, key, ...rest) => {
    if (refused.has(key)) throw refused.get(key)!;
    return createOnce(newPet, key, ...rest).catch((error: Error) => {
      refused.set(key, error);
      throw error;
    });
  };
});

const writesNoKeys = inClass(DataFile, 'append', (append) => (lines: string) => {
  return append(lines.replaceAll(/,"idempotencyKey":"\w+"/g, ''));
});

const storesEach = inClass(KeyedCreates, 'createOnce', () => async (...args) => {
  return { pet: await args[3](), isReplayed: false };
});

const triesAgain = inClass(KeyedCreates, 'createOnce', (createOnce) => async (...args) => {
  return createOnce(...args).catch(() => createOnce(...args));
});

const holdsForEver = inClass(CommitQueue, 'hold', (hold) => (bytes) => {
  hold(bytes);
  return nothing;
});

type Slip = readonly [what: string, slip: Change];

/** By file, and by the beginning of a case's title. */
const SLIPS: Readonly<Record<string, Readonly<Record<string, readonly Slip[]>>>> = {
  creates: {
    'Creates of one turn share a commit': [
      ['each create has a commit of its own', addsWithBytes(16 << 20)],
    ],
    'A commit takes up to 16 MiB': [['a commit takes all creates that wait', addsWithBytes(0)]],
    '16,384 creates may wait': [['the queue is never full', asValue(CommitQueue, 'isFull', false)]],
    'The greatest id is taken': [
      [
        'creates that wait are not counted when ids run out',
        asValue(CommitQueue, 'pendingCount', 0),
      ],
    ],
    'A key stores one pet': [
      ['no key is found', inClass(IdempotencyKeys, 'find', () => nothing)],
      ['another pet with the key is answered with the stored one', replaysAny],
      ['a replay is not told', hidesReplays],
    ],
    'A key is forgotten after 24 hours': [
      [
        'keys are never forgotten',
        inClass(IdempotencyKeys, 'add', (add) => (key, id) => add(key, id, Infinity)),
      ],
    ],
    'A retry behind a refused create tries again': [
      ['a refused create is remembered', remembersRefusals],
    ],
    'A retry after a kill and a start': [['a commit is written without its keys', writesNoKeys]],
    'A key survives a repair': [
      ['a new file has no keys', inClass(IdempotencyKeys, 'entries', () => () => [].values())],
    ],
    'Creates with a key that arrive while the first one is in progress': [
      ['each of them is stored', storesEach],
    ],
    'They are refused with it': [['one of them is tried instead of the refused one', triesAgain]],
    'Creates that wait for another one count': [
      ['they are not counted', inClass(CommitQueue, 'hold', () => () => nothing)],
      ['they are counted for ever', holdsForEver],
    ],
    'A retry that finds the queue full': [['it is refused', refusesUnknown]],
  },
  closed: {
    'A close waits for the creates in progress': [
      [
        'a close waits for no create',
        inClass(CommitQueue, 'whenIdle', () => async () => undefined),
      ],
    ],
    'A create whose key is in doubt': [['it is refused', refusesUnknown]],
  },
  repairing: { 'The first try fails': [['a key in doubt is refused', refusesUnknown]] },
  start: {
    'Keys are found for 24 hours after a start, and the newer of two counts': [
      ['the older of two counts', keepsFirst],
    ],
  },
  working: {
    'Memory fails before the write, where the table must grow': [
      ['no memory is reserved before the write', inClass(PetTable, 'reserve', () => nothing)],
    ],
  },
};

for (const [file, cases] of Object.entries(SLIPS)) {
  for (const [title, slips] of Object.entries(cases)) {
    for (const [what, slip] of slips) {
      if (!isTried(what)) continue;
      test(`A planted slip is noticed by "${title}": ${what}`, async (t) => {
        const text = casesOf(`stores/file/${file}.script`).find((one) =>
          titleOf(one).startsWith(title),
        );
        assert.ok(text !== undefined, 'There is no such case');
        const printed = slip(() =>
          Promise.race([runCase(t, text, beginStoreScript, true), whenStuck()]),
        );
        await assert.rejects(printed.then((found) => assert.equal(found, text)));
      });
    }
  }
}

/** Resolves after more turns than any case takes: a slip may make it wait for ever. */
async function whenStuck(): Promise<string> {
  for (let turn = 0; turn < 10_000; turn += 1) await nextTurn();
  return 'The case is stuck';
}
