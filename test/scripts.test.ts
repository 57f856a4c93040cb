/**
 * The bench: that it runs, and that its load generator takes no wrong answer for a fast one; and
 * what npm test shows of passed, failed and skipped tests.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from './support/disk/temp-dir.ts';
import { listenFor } from './support/http/service.ts';
import { runNode, runScript } from './support/process/process.ts';
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

const TESTS = `import { test } from 'node:test';
test('A lock', (t) => t.diagnostic('SEED=7'));
test('A flood', (t) => { t.diagnostic('SEED=8'); throw new Error('It drowned', { cause: 'No bank' }); });
test('Another user', { skip: 'needs root' }, () => undefined);`;

test('npm test shows each file, what was skipped, each failure in full, and the sums', async (t) => {
  const file = join(tempDir(t), 'wire.test.mjs');
  writeFileSync(file, TESTS);
  const reporter = join(ROOT, 'scripts', 'test-reporter.mjs');
  const { code, stdout } = await runNode(['--test', `--test-reporter=${reporter}`, file]);
  assert.equal(code, 1);
  assert.match(stdout, /^\S*wire\.test\.mjs\n✖ A flood [^]*\n﹣ Another user \S+ # needs root\n/);
  assert.match(stdout, /\nℹ tests 3\n[^]*failing tests:[^]*It drowned\n +at [^]*'No bank'/);
  assert.match(stdout, /SEED=8/);
  assert.doesNotMatch(stdout, /A lock|SEED=7/);
});
