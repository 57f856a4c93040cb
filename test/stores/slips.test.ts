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
  type CreateOnceResult,
} from '../../src/core/pets/pet-store.ts';
import { CommitQueue } from '../../src/core/store/commit-queue.ts';
import { DataFile } from '../../src/core/store/data-file.ts';
import { FileStore } from '../../src/core/store/file-store.ts';
import { KeyedCreates } from '../../src/core/store/keyed-creates.ts';
import { IdempotencyKeys } from '../../src/core/store/idempotency-keys.ts';
import { PetTable } from '../../src/core/store/pet-table.ts';
import { beginStoreScript } from '../support/disk/store-script.ts';
import { withMethod } from '../support/replaced-method.ts';
import { casesOf, runCase, titleOf } from '../support/script.ts';

type Slip = (run: () => Promise<void>) => Promise<void>;

/** Replaces a method. */
function inClass<Methods, Name extends keyof Methods>(
  owner: { readonly prototype: Methods },
  name: Name,
  replace: (original: Methods[Name]) => Methods[Name],
): Slip {
  return (run) => withMethod(owner, name, replace, run);
}

/** A getter that returns this. */
function asValue(owner: { readonly prototype: object }, name: string, value: unknown): Slip {
  return async (run) => {
    const original = Object.getOwnPropertyDescriptor(owner.prototype, name)!;
    Object.defineProperty(owner.prototype, name, { get: () => value, configurable: true });
    try {
      await run();
    } finally {
      Object.defineProperty(owner.prototype, name, original);
    }
  };
}

/** What becomes of an idempotent create, changed by `change`. */
const createsOnce = (
  change: (creating: Promise<CreateOnceResult>) => Promise<CreateOnceResult>,
): Slip =>
  inClass(
    FileStore,
    'createOnce',
    (createOnce) =>
      function (this: FileStore, ...args) {
        return change(createOnce.apply(this, args));
      },
  );

/** Reports an unknown outcome as a refusal. */
const refusesUnknown = createsOnce((creating) =>
  creating.catch((error: Error) => {
    throw error instanceof OutcomeUnknownError ? new StoreUnavailableError(error.message) : error;
  }),
);

const addsWithBytes = (bytes: number): Slip =>
  inClass(
    CommitQueue,
    'add',
    (add) =>
      function (this: CommitQueue<unknown, unknown>, item) {
        return add.call(this, item, bytes);
      },
  );

const SLIPS: readonly (readonly [file: string, case_: string, what: string, slip: Slip])[] = [
  [
    'creates',
    'Creates of one turn share a commit',
    'each create has a commit of its own',
    addsWithBytes(16 << 20),
  ],
  ['creates', '64 MiB of creates may wait', 'bytes that wait are not counted', addsWithBytes(0)],
  [
    'creates',
    'A commit takes up to 16 MiB',
    'a commit takes all creates that wait',
    addsWithBytes(0),
  ],
  [
    'creates',
    '16,384 creates may wait',
    'the queue is never full',
    asValue(CommitQueue, 'isFull', false),
  ],
  [
    'creates',
    'The greatest id is taken',
    'creates that wait are not counted when ids run out',
    asValue(CommitQueue, 'pendingCount', 0),
  ],
  [
    'closed',
    'A close waits for the creates in progress',
    'a close waits for no create',
    inClass(CommitQueue, 'whenIdle', () => async () => undefined),
  ],
  [
    'working',
    'Memory fails before the write, where the table must grow',
    'no memory is reserved before the write',
    inClass(PetTable, 'reserve', () => () => undefined),
  ],
  [
    'creates',
    'A key stores one pet',
    'no key is found',
    inClass(IdempotencyKeys, 'find', () => () => undefined),
  ],
  [
    'creates',
    'A key stores one pet',
    'another pet with the key is answered with the stored one',
    createsOnce((creating) =>
      creating.catch((error: Error) => {
        if (!(error instanceof KeyReusedError)) throw error;
        return { pet: { id: 2n, text: '' }, isReplayed: true };
      }),
    ),
  ],
  [
    'creates',
    'A key stores one pet',
    'a replay is not told',
    createsOnce(async (creating) => ({ ...(await creating), isReplayed: false })),
  ],
  [
    'creates',
    'A key is forgotten after 24 hours',
    'keys are never forgotten',
    inClass(
      IdempotencyKeys,
      'add',
      (add) =>
        function (this: IdempotencyKeys, key, id) {
          add.call(this, key, id, Infinity);
        },
    ),
  ],
  [
    'start',
    'Keys are found for 24 hours after a start, and the newer of two counts',
    'the older of two counts',
    inClass(
      IdempotencyKeys,
      'add',
      (add) =>
        function (this: IdempotencyKeys, key, ...rest) {
          if (this.find(key) === undefined) add.call(this, key, ...rest);
        },
    ),
  ],
  [
    'creates',
    'A retry behind a refused create tries again',
    'a refused create is remembered',
    inClass(KeyedCreates, 'createOnce', (createOnce) => {
      const refused = new Map<string, Error>();
      return async function (this: KeyedCreates, newPet, key, ...rest) {
        if (refused.has(key)) throw refused.get(key)!;
        return createOnce.call(this, newPet, key, ...rest).catch((error: Error) => {
          refused.set(key, error);
          throw error;
        });
      };
    }),
  ],
  [
    'creates',
    'A retry after a kill and a start',
    'a commit is written without its keys',
    inClass(
      DataFile,
      'append',
      (append) =>
        function (this: DataFile, lines) {
          return append.call(this, lines.replaceAll(/,"idempotencyKey":"\w+"/g, ''));
        },
    ),
  ],
  [
    'creates',
    'A key survives a repair',
    'a new file has no keys',
    inClass(
      IdempotencyKeys,
      'entries',
      () =>
        function* () {
          return undefined;
        },
    ),
  ],
  [
    'creates',
    'Creates with a key that arrive while the first one is in progress',
    'each of them is stored',
    inClass(KeyedCreates, 'createOnce', () => async (...args) => {
      return { pet: await args[3](), isReplayed: false };
    }),
  ],
  [
    'creates',
    'They are refused with it',
    'one of them is tried instead of the refused one',
    inClass(
      KeyedCreates,
      'createOnce',
      (createOnce) =>
        async function (this: KeyedCreates, ...args) {
          return createOnce.apply(this, args).catch(() => createOnce.apply(this, args));
        },
    ),
  ],
  [
    'creates',
    'Creates that wait for another one count',
    'they are not counted',
    inClass(CommitQueue, 'hold', () => () => () => undefined),
  ],
  [
    'creates',
    'Creates that wait for another one count',
    'they are counted for ever',
    inClass(
      CommitQueue,
      'hold',
      (hold) =>
        function (this: CommitQueue<unknown, unknown>, bytes) {
          hold.call(this, bytes);
          return () => undefined;
        },
    ),
  ],
  ['creates', 'A retry that finds the queue full', 'it is refused', refusesUnknown],
  ['repairing', 'The first try fails', 'a key in doubt is refused', refusesUnknown],
  ['closed', 'A create whose key is in doubt', 'it is refused', refusesUnknown],
];

for (const [file, title, what, slip] of SLIPS) {
  test(`A planted slip is noticed by "${title}": ${what}`, async (t) => {
    const text = casesOf(`stores/file/${file}.script`).find((one) =>
      titleOf(one).startsWith(title),
    );
    assert.ok(text !== undefined, 'There is no such case');
    const run = async (): Promise<void> => {
      const printed = await Promise.race([runCase(t, text, beginStoreScript), whenStuck()]);
      assert.equal(printed, text);
    };
    await assert.rejects(slip(run));
  });
}

/** Resolves after more turns than any case takes: a slip may make it wait for ever. */
async function whenStuck(): Promise<string> {
  for (let turn = 0; turn < 10_000; turn += 1) await nextTurn();
  return 'The case is stuck';
}
