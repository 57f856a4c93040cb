/**
 * Floods on the real process: many clients that pipeline 64 KiB each, which is what node:http reads
 * at once. The process keeps to its memory, clients that read get every response, and other clients
 * are served meanwhile.
 *
 * `scripts/bench.mjs --part floods` measures the same with 1,000 clients.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { rounds } from '../support/extent.ts';
import { lastRequestOf } from '../support/http/requests.ts';
import { openWire, type Wire } from '../support/http/wire.ts';
import { KEY, portOf, startOn, WITHOUT_LIMITS, type Process } from '../support/process/process.ts';

const CONNECTIONS = rounds(6, 300);
const FLOOD_BYTES = 65_536;
/** By itself, node:http would need more than this heap. */
const HEAP_MB = rounds(40, 256);
/** With a parser that does not stop, the peak grows by 50 MB; otherwise, by at most 23. */
const MAX_GROWTH_BYTES = rounds(35e6, 240e6);

const SHORT = 'GET / HTTP/1.1\r\n\r\n';
const PLAIN = 'GET /livez HTTP/1.1\r\nHost:a\r\n\r\n';
const ONE_BYTE = 'GET /livez HTTP/1.1\r\nHost:a\r\nContent-Length: 1\r\n\r\nx';
/** Its response closes the connection, and node:http runs the next tick with its body. */
const REFUSED = 'GET /v1/pets HTTP/1.1\r\nHost:a\r\nContent-Length: 1\r\n\r\nx';
const MANY_FIELDS = `GET /livez HTTP/1.1\r\nHost:a\r\n${'a:\r\n'.repeat(48)}\r\n`;
const LIST = `GET /v1/pets HTTP/1.1\r\nHost:a\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

type Conduct = 'reads' | 'reads nothing' | 'closes its side' | 'goes away' | 'gets one response';

const FORMS: readonly (readonly [what: string, first: string, request: string, Conduct])[] = [
  ['plain requests', '', PLAIN, 'reads'],
  ['lists', '', LIST, 'reads'],
  ['a refused request with a body, then others', REFUSED, SHORT, 'gets one response'],
  ['one-byte bodies', '', ONE_BYTE, 'reads'],
  ['plain requests', '', PLAIN, 'closes its side'],
  ['one-byte bodies', '', ONE_BYTE, 'goes away'],
  ['plain requests', '', PLAIN, 'reads nothing'],
  ['48 header fields', '', MANY_FIELDS, 'reads'],
];

const skip = existsSync('/proc/self/status') ? false : 'Needs /proc to see the memory';

async function flood(wire: Wire, [what, first, request, conduct]: (typeof FORMS)[number]) {
  const last = lastRequestOf('GET /livez');
  const count = Math.floor((FLOOD_BYTES - first.length - last.length) / request.length);
  if (conduct === 'reads nothing') wire.socket.pause();
  const sent = new Promise((resolve) => {
    wire.socket.once('close', resolve).write(first + request.repeat(count) + last, resolve);
  });
  if (conduct === 'closes its side') wire.socket.end();
  if (conduct === 'goes away') return void sent.then(() => wire.socket.destroy());
  if (conduct === 'reads nothing') return void (await sent);
  const expected = conduct === 'gets one response' ? 1 : count + 1;
  assert.equal((await wire.allAnswers()).length, expected, `${what}, ${conduct}`);
}

const env = { PETSTORE_API_KEYS: KEY, NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` };
/** The service of all floods, so that its peak is that of the worst one so far. */
const service = startOn({ after }, undefined, { env, hook: WITHOUT_LIMITS });
let atStart = 0;

/** Returns the most memory that a process has had, in bytes. */
function peakOf({ child }: Process): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return 1024 * Number(/VmHWM:\s+([0-9]+) kB/.exec(status)![1]);
}

for (const form of FORMS) {
  const [what, , , conduct] = form;
  const name = `${CONNECTIONS} clients send ${what}, and each ${conduct}: others are served`;
  test(name, { skip }, async (t) => {
    const port = await portOf(service);
    atStart ||= peakOf(service);
    const opened = Array.from({ length: CONNECTIONS }, () => openWire(t, port));
    const floods = (await Promise.all(opened)).map((wire) => flood(wire, form));
    for (let asked = 0; asked < 10; asked += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/livez`);
      assert.equal(answer.status, 200);
      await answer.text();
    }
    await Promise.all(floods);
    const growth = peakOf(service) - atStart;
    t.diagnostic(`${Math.round(growth / 1e6)} MB`);
    assert.ok(growth < MAX_GROWTH_BYTES, `The peak has grown by ${Math.round(growth / 1e6)} MB`);
  });
}
