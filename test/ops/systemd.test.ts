/** The systemd units in src/ops/README.md: systemd-analyze accepts them, and a start waits. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { blockOf } from '../support/browser/page-block.ts';
import { end, portOf, runNode, startFor } from '../support/process/process.ts';
import { needs, run } from '../support/process/program.ts';
import { listenFor } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const PAGE = 'src/ops/README.md';
const UNIT = blockOf(PAGE, 'ini', '[Service]');

test('systemd-analyze accepts both units of the page', needs('systemd-analyze'), (t) => {
  const folder = tempDir(t);
  const units = { 'petstore.service': UNIT, 'petstore.socket': blockOf(PAGE, 'ini', '[Socket]') };
  for (const [name, unit] of Object.entries(units)) {
    writeFileSync(join(folder, name), unit.replaceAll('/usr/bin/node', process.execPath));
  }
  const paths = Object.keys(units).map((name) => join(folder, name));
  // The output has lines about units of the machine, too.
  const { text } = run('systemd-analyze', ['verify', ...paths]);
  const ours = text.split('\n').filter((line) => line.includes('petstore'));
  assert.deepEqual(ours, []);
});

/** Returns the arguments of ExecStartPost=, as systemd parses them. */
function waitArguments(port: number): readonly string[] {
  const [, command = ''] = /^ExecStartPost=\/usr\/bin\/node ((?:.*\\\n)*.*)$/m.exec(UNIT) ?? [];
  // To systemd, a backslash at the end of a line is a blank, and double quotes make one word.
  const joined = command.replaceAll('\\\n', ' ').replace('127.0.0.1:8080', `127.0.0.1:${port}`);
  const [, words = '', quoted = ''] = /^([^"]*) "([^"]*)"$/.exec(joined) ?? [];
  assert.ok(quoted.includes('/readyz'), command);
  // systemd would replace these.
  assert.doesNotMatch(command, /[$%]/);
  return [...words.split(' '), quoted];
}

/** Waits as the unit does. Resolves with the exit code. */
async function wait(port: number, mainPid: number | undefined): Promise<number | string> {
  return (await runNode(waitArguments(port), { env: { MAINPID: String(mainPid) } })).code;
}

test('The unit waits until the service is ready, while it responds with 503', async (t) => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(asked < 4 ? 503 : 200).end();
  });
  assert.equal(await wait(await listenFor(t, server), process.pid), 0);
  assert.equal(asked, 4);
});

test('The unit stops waiting if the service has ended', async (t) => {
  const service = startFor(t, ['--port', '0', '--memory']);
  const port = await portOf(service);
  const { pid } = service.child;
  await end(service, 'SIGKILL');
  assert.equal(await wait(port, pid), 1);
});
