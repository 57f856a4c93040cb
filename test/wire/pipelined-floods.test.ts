/**
 * A flood: 300 connections, or 150 in the sample, each with 64 KiB of pipelined requests, on the
 * real process. Its memory stays bounded, the clients that read get every response, and a client
 * that comes meanwhile is served.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { lastRequestOf, openWire } from '../support/http/wire.ts';
import { KEY, portOf, startOn } from '../support/process/process.ts';

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
const LAST = lastRequestOf('GET /livez');
const CONDUCTS = ['reads', 'reads nothing', 'closes its side immediately'] as const;

const skip = existsSync('/proc/self/status') ? false : 'Needs /proc to see the memory';

test(
  `Of ${CONNECTIONS} clients that pipeline 64 KiB, each that reads gets all responses, and others are served`,
  { skip },
  async (t) => {
    const service = startOn(t, join(tempDir(t), 'pets.json'));
    const port = await portOf(service);
    const flood = async (request: string, conduct: (typeof CONDUCTS)[number]): Promise<void> => {
      const count = Math.floor((FLOOD_BYTES - LAST.length) / request.length);
      const wire = await openWire(t, port);
      if (conduct === 'reads nothing') wire.socket.pause();
      const sent = new Promise((resolve) => {
        wire.socket.once('close', resolve).write(request.repeat(count) + LAST, resolve);
      });
      if (conduct === 'reads nothing') return void (await sent);
      if (conduct === 'closes its side immediately') wire.socket.end();
      assert.equal((await wire.allAnswers()).length, count + 1, conduct);
    };
    const floods = Array.from({ length: CONNECTIONS }, (_, i) =>
      flood(REQUESTS[i % 3]!, CONDUCTS[Math.floor(i / 3) % 3]!),
    );
    await Promise.all(floods);
    for (let asked = 0; asked < 20; asked += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/livez`);
      assert.equal(answer.status, 200);
      await answer.text();
    }
    const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
    const peak = 1024 * Number(/VmHWM:\s+([0-9]+) kB/.exec(status)?.[1]);
    assert.ok(peak < MAX_PEAK_BYTES, `${Math.round(peak / 1e6)} MB at the peak`);
  },
);
