/** Connections without progress: time in which the service itself does not read does not count. */

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { LIMITS } from '../../src/http/limits.ts';
import { Connection, PipelineQueue } from '../../src/http/pipelining.ts';
import { closeStalledConnections } from '../../src/http/stalled-connections.ts';

test('A connection that is held does not expire, and one that is read does', async (t) => {
  const queue = new PipelineQueue(() => undefined, 1);
  const [held, reading] = [new Connection(new Socket()), new Connection(new Socket())];
  held.state = 'held';
  for (const connection of [held, reading]) queue.connections.set(connection.socket, connection);
  // Else it counts as a socket that another program has taken.
  for (const { socket } of [held, reading]) socket.on('timeout', () => undefined);
  const server = new EventEmitter() as Server;
  const times = { keepAliveTimeout: 20, headersTimeout: 20, connectionsCheckingInterval: 5 };
  closeStalledConnections(server, queue, { ...LIMITS, ...times });
  const closed = once(reading.socket, 'close');
  // The timer of the service does not keep the process.
  const timer = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(timer));
  server.emit('listening');
  await closed;
  server.emit('close');
  assert.equal(held.socket.destroyed, false);
});
