/**
 * Floods: 300 connections, or 100 in the sample, each with 64 KiB of pipelined requests, on the
 * real process. Its memory stays bounded, and a client that comes meanwhile is served.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { rounds } from '../support/extent.ts';
import { KEY, portOf, startOn, type Process } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const CONNECTIONS = rounds(100, 300);
/** What node:http reads at once. */
const FLOOD_BYTES = 65_536;
/** With the bound, 140 MB on Node 20 and up to 280 MB on Node 24; without it, 500 MB to 1 GB. */
const MAX_PEAK_BYTES = 300e6;

const FORMS = [
  ['read', 'every one of them is answered'],
  ['read nothing', 'others are served'],
  ['close their side at once', 'every one of them is answered'],
] as const;
const REQUESTS: readonly string[] = [
  'GET /livez HTTP/1.1\r\nHost:a\r\n\r\n',
  'GET /no/such/path HTTP/1.1\r\nHost:a\r\n\r\n',
  `GET /v1/pets HTTP/1.1\r\nHost:a\r\nAuthorization: Bearer ${KEY}\r\n\r\n`,
];

for (const [form, then] of FORMS) {
  const skip = existsSync('/proc/self/status') ? false : 'Needs /proc to see the memory';
  test(
    `Of ${CONNECTIONS} clients that pipeline 64 KiB and ${form}, ${then}`,
    { skip },
    async (t) => {
      const service = startOn(t, join(tempDir(t), 'pets.json'));
      const port = await portOf(service);
      const floods = Array.from({ length: CONNECTIONS }, (_, i) =>
        flood(t, port, REQUESTS[i % REQUESTS.length]!, form),
      );
      if (form === 'read nothing') {
        await Promise.all(floods.map(({ sent }) => sent));
      } else {
        const missing = await Promise.all(floods.map(({ allAnswered }) => allAnswered()));
        assert.deepEqual(new Set(missing), new Set([0]));
      }
      for (let asked = 0; asked < 20; asked += 1) {
        const answer = await fetch(`http://127.0.0.1:${port}/livez`);
        assert.equal(answer.status, 200);
        await answer.text();
      }
      const peak = peakBytesOf(service);
      assert.ok(peak < MAX_PEAK_BYTES, `${Math.round(peak / 1e6)} MB at the peak`);
    },
  );
}

interface Flood {
  /** Resolves when the system has taken all bytes, or the connection is closed. */
  readonly sent: Promise<unknown>;
  /** Resolves with how many answers are missing, once none is or the connection is closed. */
  allAnswered(): Promise<number>;
}

function flood(t: TestContext, port: number, request: string, form: string): Flood {
  const count = Math.floor(FLOOD_BYTES / request.length);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const sent = new Promise((resolve) => {
    socket.once('connect', () => socket.write(request.repeat(count), resolve));
  });
  if (form === 'read nothing') socket.pause();
  if (form === 'close their side at once') socket.once('connect', () => socket.end());
  return {
    sent: Promise.race([sent, closed]),
    allAnswered: async () => count - (await countAnswers(socket, count)),
  };
}

/** Counts status lines, also those that two chunks share. */
async function countAnswers(socket: Socket, count: number): Promise<number> {
  let answers = 0;
  let rest = '';
  await new Promise((resolve) => {
    socket.once('close', resolve);
    socket.on('data', (chunk: Buffer) => {
      const text = rest + chunk.toString('latin1');
      answers += text.split(STATUS_LINE).length - 1;
      rest = text.slice(text.lastIndexOf(STATUS_LINE) + 1).slice(1 - STATUS_LINE.length);
      if (answers >= count) resolve(undefined);
    });
  });
  return answers;
}

const STATUS_LINE = 'HTTP/1.1 ';

function peakBytesOf({ child }: Process): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return 1024 * Number(/VmHWM:\s+([0-9]+) kB/.exec(status)?.[1]);
}
