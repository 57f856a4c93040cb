/** The command, from the outside: its report and exit code, against services right and wrong. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { runScript, type ScriptResult } from '../support/run-script.ts';
import { listen, startService } from '../support/service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { runCommand } from './command.ts';
import { CERTIFICATE_PEM, KEY_PEM } from '../support/certificate.ts';
import { createOtherServer, type OtherServerOptions } from './other-server.ts';

const KEY = 'secret-of-the-client';

function run(args: readonly string[], env?: Record<string, string>): Promise<ScriptResult> {
  return runScript('conformance.mjs', args, env);
}

/** The base address of another service. */
async function openOther(t: TestContext, options: Partial<OtherServerOptions>): Promise<string> {
  const server = createOtherServer({ key: KEY, ...options });
  const port = await listen(server);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${port}/v1`;
}

// The first run builds the kit.
before(async () => void (await run(['--help'])));

test('Against this service, empty: all that is demanded holds, 0', async (t) => {
  const service = await startService({ apiKeys: [KEY] });
  t.after(() => service.close());
  const url = `${service.origin}/v1/`;
  const { code, stdout, stderr } = await run([url, '--key', KEY, '--only', 'interface']);
  assert.equal(stderr, '');
  assert.match(stdout, /\nPart 4\.1: List animals\n {2}ok {7}GET \/pets is 200 and a list/);
  assert.match(stdout, /\n\ninterface: ([0-9]+) of \1 hold\n$/);
  assert.ok(!/FAILED|differs|decision/.test(stdout), stdout);
  assert.equal(code, 0);
});

test('Against a wrong service: what was sent, received and expected, 1', async (t) => {
  const url = await openOther(t, { fault: 'creation is 200' });
  const { code, stdout } = await run([url, '--key', KEY, '--part', '4.2', '--only', 'interface']);
  const [, failure = ''] = /(\n {2}FAILED[^]*?)\n {2}ok/.exec(stdout) ?? [];
  for (const text of [
    '  FAILED   POST /pets adds an animal: 201\n',
    '  sent      POST /v1/pets\n',
    '  authorization: Bearer ***\n',
    '  {"name":"Conformance Kit","categoryId":1}\n',
    '  received  status 200\n',
    '  content-type: application/json; charset=utf-8\n',
    '  expected  the status: 201, not 200\n',
  ]) {
    assert.ok(failure.includes(text), `${text} in ${failure}`);
  }
  assert.match(stdout, /\nPart 4\.2: Add an animal\n/);
  assert.match(stdout, /\n\ninterface: 6 of 7 hold\n$/);
  assert.ok(!stdout.includes(KEY));
  assert.equal(code, 1);
});

test('Against a service that decided otherwise: 0, but strictly 1', async (t) => {
  const args = [await openOther(t, {}), '--key', KEY, '--part', '8'];
  const { code, stdout } = await run(args);
  assert.match(stdout, / {2}differs {2}\(decision\) What is not from 1 to 100 is refused\n/);
  assert.match(stdout, /\n {11}case {6}0\n {11}sent {6}GET \/v1\/pets\?limit=0\n/);
  assert.match(stdout, /\n {11}in all {4}6 of 6 cases: 0; 101; -1; 1000; /);
  assert.match(stdout, /\n\ninterface: 2 of 2 hold; decisions: 0 of 2 as here\n$/);
  assert.equal(code, 0);
  assert.equal((await run([...args, '--strict'])).code, 1);
});

test('Over TLS, with fetch and with raw connections', async (t) => {
  const service = await startService({ apiKeys: [KEY] });
  t.after(() => service.close());
  const certificate = join(tempDir(t), 'localhost.pem');
  writeFileSync(certificate, CERTIFICATE_PEM);
  const options = { key: KEY_PEM, cert: CERTIFICATE_PEM };
  const server = createTlsServer(options, service.app.listener);
  const port = await listen(server);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const args = [`https://localhost:${port}/v1`, '--key', KEY, '--part', '4.1', '--strict'];
  const { code, stdout, stderr } = await run(args, { NODE_EXTRA_CA_CERTS: certificate });
  assert.match(stdout, /decisions: 4 of 4 as here\n$/, stdout + stderr);
  assert.equal(code, 0);
});

test('Where nothing answers: it says so, 2', async () => {
  // A port that nobody is given by chance.
  const { code, stdout, stderr } = await run(['http://127.0.0.1:2/v1', '--key', KEY]);
  assert.match(stderr, /^http:\/\/127\.0\.0\.1:2\/v1 cannot be reached: .*ECONNREFUSED.*\n$/);
  assert.equal(stdout, '');
  assert.equal(code, 2);
});

test('Where the key is not accepted: it says so, 2', async (t) => {
  const url = await openOther(t, {});
  const { code, stderr } = await run([url, '--key', 'another']);
  assert.equal(stderr, `${url} does not accept the key: GET /pets is answered with 401\n`);
  assert.equal(code, 2);
});

const GOOD = ['http://127.0.0.1:2/v1', '--key', KEY];
const WRONG_USAGE: readonly [args: readonly string[], complaint: RegExp][] = [
  [[], /^One base address is needed/],
  [[...GOOD, 'more'], /^One base address is needed/],
  [['http://127.0.0.1:2/v1'], /^An API key is needed/],
  [['http://127.0.0.1:2/v1', '--key', ''], /^An API key is needed/],
  [['ftp://host/v1', '--key', KEY], /^The base address must be an http or https URL/],
  [['host/v1', '--key', KEY], /^The base address must be an http or https URL/],
  [['http://127.0.0.1:2/v2', '--key', KEY], /^The base address must end in \/v1/],
  [[...GOOD, '--only', 'all'], /^--only is interface or decision, not "all"/],
  [[...GOOD, '--part', '6'], /^There is no part "6"/],
  [[...GOOD, '--category', '1.5'], /^No category id: "1\.5"/],
  [[...GOOD, '--unknown'], /^Unknown option '--unknown'/],
];

for (const [args, complaint] of WRONG_USAGE) {
  test(`Wrong usage is told, 2: ${args.join(' ')}`, async () => {
    const printed: string[] = [];
    const complaints: string[] = [];
    const print = (line: string): void => void printed.push(line);
    const complain = (line: string): void => void complaints.push(line);
    assert.equal(await runCommand(args, print, complain), 2);
    assert.deepEqual(printed, []);
    assert.match(complaints.join('\n'), complaint);
  });
}

test('--help tells of every option, 0', async () => {
  const { code, stdout } = await run(['--help']);
  for (const option of ['--key', '--only', '--part', '--category', '--strict']) {
    assert.ok(stdout.includes(option), option);
  }
  assert.equal(code, 0);
});
