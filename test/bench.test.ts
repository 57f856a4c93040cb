/** The bench: that it runs, and that its load generator takes no wrong answer for a fast one. */

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { listenFor } from './support/http/service.ts';
import { runScript } from './support/process/process.ts';
import { ROOT } from './support/project.ts';

test('The bench sets the service against floors and another build', async () => {
  const args = ['--part', 'way', '--rounds', '1', '--seconds', '0.02'];
  const against = ['--against', join(ROOT, 'dist')];
  const { code, stdout, stderr } = await runScript('bench.mjs', [...args, ...against]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^\| What \| ours \| naive \| fastest \| other build \|\n\|---\|/m);
  const figures = String.raw`( \| [0-9.]+ \([0-9.]+–[0-9.]+\)[^|]*){3} \|$`;
  assert.match(stdout, new RegExp(String.raw`^\| one pet \| [0-9.]+ µs${figures}`, 'm'));
  // Without a terminal, progress is printed in lines.
  assert.match(stderr, /^way: round 1$/m);
});

/** How a server responds, and the exit code of the load generator. */
const SERVERS: readonly (readonly [what: string, listener: RequestListener, code: number])[] = [
  ['the right answer', (_request, response) => response.end('four'), 0],
  [
    'another status',
    (_request, response) => response.writeHead(500, { 'Content-Length': 4 }).end('four'),
    1,
  ],
  ['a longer body', (_request, response) => response.end('fiver'), 1],
  ['a shorter body', (_request, response) => response.end('six'), 1],
  ['no answer', (request) => request.socket.destroy(), 1],
];

for (const [what, listener, code] of SERVERS) {
  test(`The load generator ${code === 0 ? 'counts' : 'fails at'} ${what}`, async (t) => {
    const port = await listenFor(t, createServer(listener));
    const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    const job = { port, request, connections: 2, seconds: 0.05, bodyBytes: 4 };
    const result = await runScript('bench/load.mjs', [JSON.stringify(job)]);
    assert.equal(result.code, code, result.stderr);
    if (code > 0) return assert.equal(result.stdout, '');
    const { answers, rate } = JSON.parse(result.stdout) as Record<string, number>;
    assert.ok(answers! >= 2 && rate! > 0);
  });
}
