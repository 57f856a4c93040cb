/**
 * A flood: 300 connections, or 150 in the sample, each with 64 KiB of pipelined requests, on the
 * real process. Its memory stays bounded, the clients that read get every response, and a client
 * that comes meanwhile is served.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { rounds } from '../support/extent.ts';
import { KEY, portOf, startOn } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const CONNECTIONS = rounds(150, 300);
/** What node:http reads at once. */
const FLOOD_BYTES = 65_536;
/** With the bound, 140 MB on Node 20 and up to 280 MB on Node 24; without it, 500 MB to 1 GB. */
const MAX_PEAK_BYTES = 300e6;

const REQUESTS: readonly string[] = [
  'GET /livez HTTP/1.1\r\nHost:a\r\n\r\n',
  'GET /no/such/path HTTP/1.1\r\nHost:a\r\n\r\n',
  `GET /v1/pets HTTP/1.1\r\nHost:a\r\nAuthorization: Bearer ${KEY}\r\n\r\n`,
];
const CONDUCTS = ['reads', 'reads nothing', 'closes its side immediately'] as const;

const skip = existsSync('/proc/self/status') ? false : 'Needs /proc to see the memory';

test(
  `Of ${CONNECTIONS} clients that pipeline 64 KiB, each that reads gets all responses, and others are served`,
  { skip },
  async (t) => {
    const service = startOn(t, join(tempDir(t), 'pets.json'));
    const port = await portOf(service);
    const missing = await Promise.all(
      Array.from({ length: CONNECTIONS }, (_, i) =>
        flood(t, port, REQUESTS[i % 3]!, CONDUCTS[Math.floor(i / 3) % 3]!),
      ),
    );
    assert.deepEqual(new Set(missing), new Set([0]));
    for (let asked = 0; asked < 20; asked += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/livez`);
      assert.equal(answer.status, 200);
      await answer.text();
    }
    const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
    const peak = 1024 * Number(/VmHWM:\s+([0-9]+) kB/.exec(status)?.[1]);
    t.diagnostic(`${Math.round(peak / 1e6)} MB at the peak`);
    assert.ok(peak < MAX_PEAK_BYTES, `${Math.round(peak / 1e6)} MB at the peak`);
  },
);

/**
 * Resolves with how many responses are missing when none is, or when the connection is closed. A
 * client that reads nothing misses none, and is done when the system has taken its bytes.
 */
function flood(
  t: TestContext,
  port: number,
  request: string,
  conduct: (typeof CONDUCTS)[number],
): Promise<number> {
  const count = Math.floor(FLOOD_BYTES / request.length);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  const sent = new Promise((resolve) => socket.write(request.repeat(count), resolve));
  if (conduct === 'closes its side immediately') socket.end();
  if (conduct !== 'reads nothing') return missingOf(socket, count);
  socket.pause();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  return Promise.race([sent, closed]).then(() => 0);
}

/** Counts status lines, also those that two chunks share. */
function missingOf(socket: Socket, count: number): Promise<number> {
  let missing = count;
  let rest = '';
  return new Promise((resolve) => {
    socket.once('close', () => resolve(missing));
    socket.on('data', (chunk: Buffer) => {
      const text = rest + chunk.toString('latin1');
      missing -= text.split(STATUS_LINE).length - 1;
      rest = text.slice(text.lastIndexOf(STATUS_LINE) + 1).slice(1 - STATUS_LINE.length);
      if (missing === 0) resolve(0);
    });
  });
}

const STATUS_LINE = 'HTTP/1.1 ';
