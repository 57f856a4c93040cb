/** Several requests on one connection: each gets its answer, in its turn, however they are cut. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CASE, caseOf, rounds } from '../support/extent.ts';
import { openService } from '../support/http/service.ts';
import { usedBytes } from '../support/process/heap.ts';
import { CHUNKED, CREATE, LIVEZ, REX, lastRequestOf, requestOf } from '../support/http/requests.ts';
import { createRandom } from '../support/random.ts';
import { openWire, statusesOf, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

const KINDS: readonly (readonly [request: string, status: number])[] = [
  [LIVEZ, 200],
  [requestOf('GET /v1/pets?limit=5'), 200],
  [CREATE, 201],
  [requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n0\r\nX-Connection: close\r\n\r\n`), 201],
  [requestOf('POST /v1/pets', [], '{}'), 400],
  [requestOf('PUT /', ['Content-Length: 0']), 404],
  [requestOf('OPTIONS /v1/pets'), 204],
  // Bodies that are not read.
  [requestOf('GET /livez', [], LIVEZ), 200],
  [requestOf('OPTIONS /v1/pets', [], 'x'), 204],
  // Creates without a body.
  [requestOf('POST /v1/pets'), 400],
  [requestOf('POST /v1/pets', ['Content-Length: 0']), 400],
  [requestOf('POST /v1/pets', [CHUNKED], '0\r\n\r\n'), 400],
];

test('However requests are cut into writes, each gets its response, in order', async (t) => {
  const own = await openService(t);
  // More clients at once than the kernel keeps in line would lose their connections.
  for (let first = 1; first <= rounds(50, 2000); first += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => checkCuts(first + i)));
  }

  /** A client of its own, with random requests, cuts and pauses. Often it closes its side. */
  async function checkCuts(seed: number): Promise<void> {
    if (CASE !== undefined && CASE !== String(seed)) return;
    const random = createRandom(seed);
    const count = 1 + random.below(random.oneIn(5) ? 200 : 12);
    const kinds = Array.from({ length: count }, () => random.pick(KINDS));
    const bytes = kinds.map(([request]) => request).join('');
    const wire = await openWire(t, own.port);
    wire.socket.setNoDelay(true);
    const cuts = Array.from({ length: random.below(12) }, () => random.below(bytes.length));
    let at = 0;
    for (const cut of [...cuts.sort((a, b) => a - b), bytes.length]) {
      wire.socket.write(bytes.slice(at, cut));
      at = cut;
      for (let turns = random.below(20); turns >= 0; turns -= 1) await nextTurn();
    }
    if (random.oneIn(2)) wire.socket.end();
    const answers = await wire.answers(count).catch((cause: unknown) => {
      throw new Error(caseOf(seed), { cause });
    });
    const expected = kinds.map(([, status]) => status);
    assert.deepEqual(statusesOf(answers), expected, caseOf(seed));
  }
});

test('After bytes that are not HTTP nothing is parsed', async (t) => {
  const own = await openService(t);
  let errors = 0;
  own.server.on('clientError', () => (errors += 1));
  // The second request waits, so what follows is given to the parser in pieces.
  const answers = await talk(own.port, LIVEZ + LIVEZ + '\x01 is not HTTP\r\n\r\n'.repeat(1000));
  assert.deepEqual(statusesOf(answers), [200, 200, 400]);
  // Of them, one is the stop of the parser at the second request.
  assert.ok(errors <= 3, `${errors} errors`);
});

const LENGTH = rounds(20_000, 60_000);

test('A body in chunks of one byte takes little more than its length', async (t) => {
  const own = await openService(t);
  const chunks = [...REX.padEnd(LENGTH)].map((byte) => `1\r\n${byte}\r\n`).join('');
  const wires = await Promise.all(Array.from({ length: 8 }, () => openWire(t, own.port)));
  const before = usedBytes();
  for (const { socket } of wires) socket.write(requestOf('POST /v1/pets', [CHUNKED], chunks));
  // All of that is read when another connection is answered and nothing waits to be sent.
  await until(() => wires.every(({ socket }) => socket.writableLength === 0));
  await talk(own.port, lastRequestOf('GET /livez'));
  const perBody = (usedBytes() - before) / wires.length;
  assert.ok(perBody < 5 * LENGTH, `${perBody} bytes`);
  for (const { socket } of wires) socket.write('0\r\n\r\n');
  for (const wire of wires) assert.deepEqual(statusesOf(await wire.answers(1)), [201]);
});
