/** The bench: that it runs, and that its load generator takes no wrong answer for a fast one. */

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { test } from 'node:test';
import { listenFor } from './support/http/service.ts';
import { runScript } from './support/process/process.ts';

test('The bench names its parts, and refuses another one before it starts anything', async () => {
  const parts = /way,noise,reads,creates,cost,sqlite,keys,growth,start,slow-disk,pressure,floods,/;
  for (const [args, code, text] of [
    [['--help'], 0, parts],
    [['--part', 'raeds'], 1, /^There is no part raeds\n$/],
  ] as const) {
    const result = await runScript('bench.mjs', args);
    assert.equal(result.code, code, result.stderr);
    assert.match(result.stdout + result.stderr, text);
  }
});

test('The bench measures a part, and prints Markdown with a column for each Node', async () => {
  const short = ['--rounds', '1', '--turns', '1', '--seconds', '0.02'];
  const nodes = ['--node', process.execPath, '--node', process.execPath];
  const args = ['--part', 'metrics', '--markdown', ...short, ...nodes];
  const { code, stdout, stderr } = await runScript('bench.mjs', args);
  assert.equal(code, 0, stderr);
  const column = `Node ${process.versions.node} | ours : theirs`;
  assert.ok(stdout.includes(`\n| What | Against | Goal | ${column} | ${column} |\n`), stdout);
  assert.match(
    stdout,
    /^\| one pet, 64 connections, rate \| without counting \| ≥ 0\.97 \| [0-9]/m,
  );
  // Without a terminal, progress is printed in lines.
  assert.match(stderr, /^metrics, uncounted: round 1$/m);
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
    const job = { port, request, connections: 2, count: 20, seconds: 20, bodyBytes: 4 };
    const result = await runScript('bench/load.mjs', [JSON.stringify(job)]);
    assert.equal(result.code, code, result.stderr);
    if (code > 0) return assert.equal(result.stdout, '');
    const { answers, rate, p50 } = JSON.parse(result.stdout) as Record<string, number>;
    assert.equal(answers, 20);
    assert.ok(rate! > 0 && p50! > 0);
  });
}
