/** The states of an app: each row of the table in app.ts, and each way between two of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp } from '../../src/app/app.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, listenFor, openService } from '../support/http/service.ts';

const STARTING = 'The service is starting';
const STOPPING = 'The service is stopping';
const PROBLEM = 'No space is left';

type Event = 'open' | 'drain' | 'close';

/** What leads to a state, and what list, create and /readyz have there: a result, or an error. */
const ROWS: readonly (readonly [events: readonly Event[], ...outcomes: string[]])[] = [
  [[], STARTING, STARTING, STARTING],
  [['open'], 'pets', 'a pet', PROBLEM],
  [['open', 'drain'], 'pets', STOPPING, STOPPING],
  [['drain'], STOPPING, STOPPING, STOPPING],
  [['drain', 'open'], 'pets', STOPPING, STOPPING],
  [['drain', 'drain'], STOPPING, STOPPING, STOPPING],
  [['close'], STOPPING, STOPPING, STOPPING],
  [['open', 'close'], 'pets', STOPPING, STOPPING],
  [['open', 'drain', 'close'], 'pets', STOPPING, STOPPING],
  [['close', 'drain'], STOPPING, STOPPING, STOPPING],
  [['close', 'close'], STOPPING, STOPPING, STOPPING],
];

for (const [events, ...expected] of ROWS) {
  test(`After [${events.join(', ')}] an app has ${expected.join(', ')}`, async (t) => {
    const store = { ...createMemoryStore(), problem: () => PROBLEM };
    const app = createApp({ store, apiKeys: [KEY] });
    // All at once, so that `open` is still in progress at the next event.
    await Promise.all(events.map((event) => app[event]()));
    const port = await listenFor(t, createHttpServer(app.listener));
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    assert.equal(ready.status, 503);
    const messageOf = ({ name, message }: Error): string => {
      assert.equal(name, 'StoreUnavailableError');
      return message;
    };
    const outcomes = [
      await app.pets.list().then(() => 'pets', messageOf),
      await app.pets.create({ name: 'Rex', categoryId: 7 }).then(() => 'a pet', messageOf),
      ((await ready.json()) as { message: string }).message,
    ];
    assert.deepEqual(outcomes, expected);
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
