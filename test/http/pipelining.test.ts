/** Pipelined requests: answered in order, one at a time, and not at the cost of others. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createMemoryStore } from '../../src/storage/memory-store.ts';
import { exchange, parseAnswers } from '../support/raw-http.ts';
import { KEY, startService } from '../support/service.ts';

function request(path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n${more}\r\n`;
}

test('A request is looked at only when the answer before it has gone out', async (t) => {
  const store = createMemoryStore();
  const asked: bigint[] = [];
  const release: (() => void)[] = [];
  const slow = {
    ...store,
    get: (id: bigint) => {
      asked.push(id);
      return new Promise<undefined>((resolve) => release.push(() => resolve(undefined)));
    },
  };
  const service = await startService({ store: slow });
  t.after(() => service.close());
  const paths = [1, 2, 3].map((id) => request(`/v1/pets/${id}`));
  const last = request('/v1/pets/4', 'Connection: close\r\n');
  const answers = exchange(service.port, paths.join('') + last);
  for (let id = 1; id <= 4; id += 1) {
    while (release.length === 0) await nextTurn();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    assert.deepEqual(
      asked.map(Number),
      Array.from({ length: id }, (_, index) => index + 1),
    );
    release.pop()!();
  }
  const messages = parseAnswers(await answers).map(({ body }) => body);
  assert.deepEqual(
    messages.map((body) => (JSON.parse(body) as { message: string }).message.slice(-3)),
    ['"1"', '"2"', '"3"', '"4"'],
  );
});

test('A long pipeline of one client does not make another wait for all of it', async (t) => {
  const service = await startService();
  t.after(() => service.close());
  const count = 2000;
  const socket = connect(service.port, '127.0.0.1');
  t.after(() => socket.destroy());
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.write(request('/v1/pets').repeat(count));
  while (received === '') await nextTurn();
  const other = await service.fetch('/v1/pets');
  assert.equal(other.status, 200);
  const answered = received.split('HTTP/1.1 200').length - 1;
  assert.ok(answered < count, `${answered} were answered first`);
  while (received.split('HTTP/1.1 200').length - 1 < count) await nextTurn();
});
