/** What a connection takes of the memory. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rounds } from '../support/extent.ts';
import { openService } from '../support/http/service.ts';
import { usedBytes } from '../support/process/heap.ts';
import { CHUNKED, REX, lastRequestOf, requestOf } from '../support/http/requests.ts';
import { openWire, statusesOf, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

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
