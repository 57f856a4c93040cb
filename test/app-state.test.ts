/**
 * The states of an app: each row of the table in app-state.ts, and each way between two of them.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppState, type AppPhase } from '../src/app/app-state.ts';
import { createApp } from '../src/app/app.ts';
import type { PetStore } from '../src/model/pet-store.ts';
import { createMemoryStore } from '../src/stores/memory-store.ts';
import { openService } from './support/http/service.ts';

const STORE: PetStore = { ...createMemoryStore(), problem: () => 'No space is left' };
const STARTING = 'The service is starting';
const STOPPING = 'The service is stopping';
const PROBLEM = 'No space is left';

type Event = 'opened' | 'drain' | 'close';

/** What leads to a row, and what it has for a read, a create and /readyz: the store, or why not. */
const ROWS: readonly (readonly [
  events: readonly Event[],
  phase: AppPhase,
  read: string,
  create: string,
  readyz: string,
])[] = [
  [[], 'starting', STARTING, STARTING, STARTING],
  [['opened'], 'open', 'the store', 'the store', PROBLEM],
  [['opened', 'drain'], 'draining', 'the store', STOPPING, STOPPING],
  [['drain'], 'draining', STOPPING, STOPPING, STOPPING],
  [['drain', 'opened'], 'draining', 'the store', STOPPING, STOPPING],
  [['drain', 'drain'], 'draining', STOPPING, STOPPING, STOPPING],
  [['close'], 'closed', STOPPING, STOPPING, STOPPING],
  [['opened', 'close'], 'closed', 'the store', STOPPING, STOPPING],
  [['opened', 'drain', 'close'], 'closed', 'the store', STOPPING, STOPPING],
  [['close', 'opened'], 'closed', 'the store', STOPPING, STOPPING],
  [['close', 'drain'], 'closed', STOPPING, STOPPING, STOPPING],
  [['close', 'close'], 'closed', STOPPING, STOPPING, STOPPING],
];

for (const [events, phase, read, create, readyz] of ROWS) {
  test(`After [${events.join(', ')}] an app is ${phase}`, () => {
    const state = new AppState();
    for (const event of events) state[event](STORE);
    assert.equal(state.phase, phase);
    assert.equal(state.isStopping, phase === 'draining' || phase === 'closed');
    const outcomes = [() => state.storeForRead(), () => state.storeForCreate()].map(outcomeOf);
    assert.deepEqual(outcomes, [read, create]);
    assert.equal(state.problem(), readyz);
  });
}

test('An app drains and closes its store, and does not open after it was closed', async (t) => {
  let drains = 0;
  const { app } = await openService(t, {
    store: { ...createMemoryStore(), drain: () => (drains += 1) },
  });
  app.drain();
  assert.equal(drains, 1);
  let closes = 0;
  const store = { ...createMemoryStore(), close: async () => void (closes += 1) };
  const closed = createApp({ store, apiKeys: ['a-key'] });
  await closed.close();
  assert.equal(closes, 1);
  await assert.rejects(closed.open(), { name: 'AbortError' });
});

function outcomeOf(find: () => PetStore): string {
  try {
    return find() === STORE ? 'the store' : 'another store';
  } catch (error) {
    const { name, message } = error as Error;
    assert.equal(name, 'StoreUnavailableError');
    return message;
  }
}
