/** The bench: that it runs, and that its load generator takes no wrong answer for a fast one. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Disk } from '../src/stores/file/disk.ts';
import { tempDir } from './support/disk/temp-dir.ts';
import { listen } from './support/http/service.ts';
import { runScript } from './support/process/process.ts';

test('The bench shows its parts, and measures the one that is asked for', async () => {
  const help = await runScript('bench.mjs', ['--help']);
  assert.equal(help.code, 0, help.stderr);
  assert.match(
    help.stdout,
    /way,noise,reads,creates,cost,sqlite,keys,growth,start,slow-disk,pressure,floods,metrics,rules,large/,
  );
  const { code, stdout, stderr } = await measureMetrics();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^one pet, 64 connections, rate +without counting +≥ 0\.97 +[0-9.]+ \(/m);
  // Without a terminal, progress is printed in lines.
  assert.match(stderr, /^metrics, uncounted: round 1$/m);
});

test('The bench prints Markdown, with a column for each Node', async () => {
  const nodes = ['--node', process.execPath, '--node', process.execPath];
  const { code, stdout, stderr } = await measureMetrics('--markdown', ...nodes);
  assert.equal(code, 0, stderr);
  const version = process.versions.node;
  const head = stdout.split('\n').find((line) => line.startsWith('| What |'));
  assert.equal(head?.split(`| Node ${version} | ours : theirs `).length, 3);
  assert.match(stdout, /^\| one pet, 64 connections, rate \| without counting \| ≥ 0\.97 \| /m);
});

test('The bench refuses a part that is not there before it starts anything', async () => {
  const { code, stderr } = await runScript('bench.mjs', ['--part', 'raeds']);
  assert.equal(code, 1);
  assert.match(stderr, /There is no part raeds/);
});

function measureMetrics(...options: readonly string[]): ReturnType<typeof runScript> {
  const short = ['--rounds', '1', '--turns', '2', '--seconds', '0.05'];
  return runScript('bench.mjs', ['--part', 'metrics', ...short, ...options]);
}

test('The disk that looks at the lock once does not notice that the lock was removed', async (t) => {
  const disks = new URL('../../scripts/bench/disks.mjs', import.meta.url);
  const { lookOnceDisk } = (await import(disks.href)) as { lookOnceDisk(): Disk };
  const disk = lookOnceDisk();
  const path = join(tempDir(t), 'pets.json.lock');
  writeFileSync(path, '');
  const entry = disk.stat(path);
  rmSync(path);
  assert.ok(entry !== undefined);
  assert.equal(disk.stat(path), entry);
});

test('The load generator counts the answers that are as they should be', async (t) => {
  const result = await load(t, (_request, response) => response.end('four'), { bodyBytes: 4 });
  assert.equal(result.code, 0, result.stderr);
  const { answers, rate, p50 } = JSON.parse(result.stdout) as Record<string, number>;
  assert.equal(answers, 20);
  assert.ok(rate! > 0 && p50! > 0);
});

const WRONG: readonly (readonly [what: string, listener: RequestListener])[] = [
  [
    'another status',
    (_request, response) => {
      response.statusCode = 500;
      response.end('four');
    },
  ],
  ['a longer body', (_request, response) => response.end('fiver')],
  ['a shorter body', (_request, response) => response.end('six')],
  ['no answer', (request) => request.socket.destroy()],
];

for (const [what, listener] of WRONG) {
  test(`The load generator fails at ${what}`, async (t) => {
    const { code, stdout } = await load(t, listener, { bodyBytes: 4 });
    assert.equal(code, 1);
    assert.equal(stdout, '');
  });
}

async function load(
  t: TestContext,
  listener: RequestListener,
  options: object,
): ReturnType<typeof runScript> {
  const server = createServer(listener);
  const port = await listen(server);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const all = { port, request, connections: 2, count: 20, seconds: 20, ...options };
  return runScript('bench/load.mjs', [JSON.stringify(all)]);
}
