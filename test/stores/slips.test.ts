/**
 * Planted slips of the queue, the idempotency keys and the idempotent create, each with the case
 * of a script that must notice it.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { KeyReusedError } from '../../src/core/pets/pet-store.ts';
import { CommitQueue } from '../../src/core/store/commit-queue.ts';
import { FileStore } from '../../src/core/store/file-store.ts';
import { KeyedCreates } from '../../src/core/store/keyed-creates.ts';
import { IdempotencyKeys } from '../../src/core/store/idempotency-keys.ts';
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

const keepsKeys = inClass(IdempotencyKeys, 'add', (add) => (key, id) => add(key, id, Infinity));

const keepsFirst = inClass(IdempotencyKeys, 'add', (add, keys) => (key, ...rest) => {
  if (keys.find(key) === undefined) add(key, ...rest);
});

const refusals = new WeakMap<KeyedCreates, Map<string, Error>>();

const remembersRefusals = inClass(KeyedCreates, 'createOnce', (createOnce, self) => {
  const refused = refusals.get(self) ?? new Map<string, Error>();
  refusals.set(self, refused);
  return async (members, key, create) => {
    if (refused.has(key)) throw refused.get(key)!;
    return createOnce(members, key, create).catch((error: Error) => {
      refused.set(key, error);
      throw error;
    });
  };
});

const storesEach = inClass(KeyedCreates, 'createOnce', () => async (...args) => {
  return { pet: await args[2](), isReplayed: false };
});

const triesAgain = inClass(KeyedCreates, 'createOnce', (createOnce) => async (...args) => {
  return createOnce(...args).catch(() => createOnce(...args));
});

const holdsNothing = inClass(CommitQueue, 'hold', () => () => nothing);

const holdsForEver = inClass(CommitQueue, 'hold', (hold) => (bytes) => {
  hold(bytes);
  return nothing;
});

const countsNone = asValue(CommitQueue, 'pendingCount', 0);

const waitsForNone = inClass(CommitQueue, 'whenIdle', () => async () => undefined);

/** The script, the beginning of a case's title, what the slip does, and the slip. */
type Slip = readonly [file: string, title: string, what: string, slip: Change];

/** Slips that lose a pet or a key, or hide a doubt, are in test/simulation/breaks.ts. */
const SLIPS: readonly Slip[] = [
  ['creates', 'Creates of one turn', 'each has a commit of its own', addsWithBytes(16 << 20)],
  ['creates', 'A commit takes up to 16 MiB', 'it takes all that wait', addsWithBytes(0)],
  ['creates', '16,384 creates may wait', 'more may', asValue(CommitQueue, 'isFull', false)],
  ['creates', 'The greatest id is taken', 'creates that wait are not counted', countsNone],
  ['creates', 'A key stores one pet', 'another pet with the key is a replay', replaysAny],
  ['creates', 'A key stores one pet', 'a replay is not told', hidesReplays],
  ['creates', 'A key is forgotten', 'keys are never forgotten', keepsKeys],
  ['creates', 'A retry behind a refused', 'a refused create is remembered', remembersRefusals],
  ['creates', 'Creates with a key that arrive while', 'each of them is stored', storesEach],
  ['creates', 'They are refused with it', 'one of them is tried instead', triesAgain],
  ['creates', 'Creates that wait for another one', 'they are not counted', holdsNothing],
  ['creates', 'Creates that wait for another one', 'they are counted for ever', holdsForEver],
  ['closed', 'A close waits for the creates', 'it waits for none', waitsForNone],
  ['start', 'Keys are found for 24 hours', 'the older of two counts', keepsFirst],
];

for (const [file, title, what, slip] of SLIPS) {
  if (!isTried(what)) continue;
  test(`A planted slip is noticed by "${title}…": ${what}`, async (t) => {
    const cases = casesOf(`stores/file/${file}.script`);
    const text = cases.find((one) => titleOf(one).startsWith(title));
    assert.ok(text !== undefined, 'There is no such case');
    const run = (): Promise<string> => runCase(t, text, beginStoreScript, true);
    const printed = slip(() => Promise.race([run(), whenStuck()]));
    await assert.rejects(printed.then((found) => assert.equal(found, text)));
  });
}

/** Resolves after more turns than any case takes: a slip may make it wait for ever. */
async function whenStuck(): Promise<string> {
  for (let turn = 0; turn < 10_000; turn += 1) await nextTurn();
  return 'The case is stuck';
}
