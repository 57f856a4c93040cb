/**
 * The command from the outside: its report, its options and exit codes, as a newcomer sees them.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CHECKS } from '../../src/kit/checks.ts';
import { runCommand } from '../../src/kit/command.ts';
import { CERTIFICATE_PEM, KEY_PEM } from '../support/process/certificate.ts';
import { runScript, type ScriptResult } from '../support/process/run-script.ts';
import { listen, startService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { otherDecisions } from './other-decisions.ts';
import { createPlainServer, plainRules, type Rules } from './plain-service.ts';

const KEY = 'secret-of-the-client';
const CREATED_200: Partial<Rules> = { created: (pet) => ({ status: 200, body: pet }) };

function run(args: readonly string[], env: Record<string, string> = {}): Promise<ScriptResult> {
  return runScript('conformance.mjs', args, { CONFORMANCE_API_KEY: KEY, ...env });
}

/** The base address of a service for the time of one test. */
async function open(t: TestContext, rules: Partial<Rules> = {}): Promise<string> {
  return `http://127.0.0.1:${await portOf(t, createPlainServer(KEY, rules))}/v1`;
}

async function portOf(t: TestContext, server: Server): Promise<number> {
  const port = await listen(server);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return port;
}

test('A right service: how many hold and what was not observed, 0', async (t) => {
  const { code, stdout, stderr } = await run([await open(t)]);
  assert.equal(stderr, '');
  assert.match(
    stdout,
    /^petstore conformance [0-9.]+, interface 1\.0\.0, http:\S+\n( {2}Checks done.*\n)*\nNot observed:\n/,
  );
  assert.match(
    stdout,
    /\n {2}9\/removal that day is to come\n\n[0-9]+ hold; 0 fail; 3 not observed\n$/,
  );
  assert.equal(code, 0);
});

test('A wrong one: the id, then what was expected, sent and received, without the key, 1', async (t) => {
  const { code, stdout } = await run([await open(t, CREATED_200), '--only', '4.2']);
  for (const text of [
    '\nFAILS 4.2/created POST /pets adds an animal: 201\n',
    '\n  the status: expected 201, received 200\n',
    '\n  sent      POST /v1/pets\n            authorization: Bearer ***\n',
    '\n            {"name":"Conformance Kit","categoryId":1}\n',
    '\n  received  status 200\n',
    '\n7 hold; 1 fail; 0 not observed\n',
  ]) {
    assert.ok(stdout.includes(text), `${text} in ${stdout}`);
  }
  assert.ok(!stdout.includes(KEY));
  assert.equal(code, 1);
});

test('A request that is compared with a later one is the evidence', async (t) => {
  const url = await open(t, {
    isCategory: (value) => value !== 0n && plainRules.isCategory(value),
  });
  const { stdout } = await run([url, '--only', '2/category-zero']);
  assert.match(stdout, /expected 0 accepted, as 1914638257 is/);
  assert.match(stdout, /\n {2}sent [^]*"categoryId":0\D[^]*\n {2}received {2}status 400\n/, stdout);
  assert.doesNotMatch(stdout, /"categoryId":1914638257/);
  const reply: Rules['reply'] = (reply, { method }) =>
    method === 'HEAD' ? { ...reply, status: 405 } : reply;
  const head = await run([await open(t, { reply }), '--only', 'http/head', '--strict']);
  assert.match(head.stdout, /\n {2}sent {6}HEAD \/v1\/pets\n/);
});

test('Failures with one cause stand together', async (t) => {
  const error: Rules['error'] = (status) => ({ status, body: 'text' });
  const { stdout } = await run([await open(t, { error })]);
  assert.match(stdout, /FAILS 2\/error-fields [^]*\n {2}so does {2}7\/error Every/);
});

test('A service that decided otherwise: its differences by their causes, 0, but strictly 1', async (t) => {
  const args = [
    await open(t, otherDecisions),
    '--only',
    'decisions/limit',
    '--only',
    'decisions/order',
  ];
  const { code, stdout } = await run(args);
  assert.match(stdout, /\nDiffers from the decisions of this project \(not a failure\):\n/);
  const cause = '\n  the status: expected 400, received 200: decisions/limit (limit=, limit, ';
  assert.ok(stdout.includes(cause), stdout);
  assert.match(stdout, /\n0 hold; 0 fail; 0 not observed; 2 differ from decisions\n$/);
  assert.equal(code, 0);
  assert.equal((await run([...args, '--strict'])).code, 1);
});

test('JUnit has failures exactly if the exit code is 1', async (t) => {
  const output = join(tempDir(t), 'conformance.xml');
  const list = join(tempDir(t), 'expected-failures');
  writeFileSync(list, '4.2/created\n');
  const only = ['4.2', 'decisions/limit', 'decisions/order'].flatMap((id) => ['--only', id]);
  const args = [...only, '--reporter', 'junit', '--output', output];
  const expected = ['--expected-failures', list];
  const other = await open(t, otherDecisions);
  const wrong = await open(t, CREATED_200);
  for (const [given, failures] of [
    [[other, ...args], 0],
    [[other, ...args, '--strict'], 2],
    [[wrong, ...args], 1],
    [[wrong, ...args, ...expected], 0],
    [[other, ...args, ...expected], 1],
  ] as const) {
    const { code } = await run(given);
    const found = readFileSync(output, 'utf8').match(/<failure/g)?.length ?? 0;
    assert.deepEqual([found, code], [failures, failures === 0 ? 0 : 1], given.join(' '));
  }
});

test('An expected failure fails nothing, until it holds', async (t) => {
  const list = join(tempDir(t), 'expected-failures');
  writeFileSync(list, '# Until the framework is replaced\n4.2/created # 200\n');
  const args = ['--only', '4.2', '--expected-failures', list];
  const wrong = await run([await open(t, CREATED_200), ...args]);
  assert.match(wrong.stdout, /; 1 expected to fail: 4\.2\/created\n$/);
  assert.equal(wrong.code, 0);
  const right = await run([await open(t), ...args]);
  assert.match(right.stdout, /FAILS 4\.2\/created .*\n.* holds: remove it from the expected fail/);
  assert.equal(right.code, 1);
});

test('JUnit goes to a file, beside the report', async (t) => {
  const output = join(tempDir(t), 'conformance.xml');
  const args = ['--only', '8', '--reporter', 'junit', '--output', output];
  const { code, stdout } = await run([await open(t), ...args]);
  assert.match(stdout, /3 hold; 0 fail; 0 not observed\n$/);
  assert.match(readFileSync(output, 'utf8'), /<testcase name="8\/limit limit is from 1 to 100"/);
  assert.equal(code, 0);
});

test('A header that a gateway asks for goes with every request', async (t) => {
  const hasKey: Rules['hasKey'] = (authorization, key, { headers }) =>
    headers['x-gateway'] === 'g' && plainRules.hasKey(authorization, key, {} as never);
  const url = await open(t, { hasKey });
  assert.equal((await run([url, '--only', '8'])).code, 2);
  assert.equal((await run([url, '--only', '8', '--header', 'X-Gateway: g'])).code, 0);
});

test('A service over TLS is checked as any other', async (t) => {
  const service = await startService({ apiKeys: [KEY] });
  t.after(() => service.close());
  const certificate = join(tempDir(t), 'localhost.pem');
  writeFileSync(certificate, CERTIFICATE_PEM);
  const options = { key: KEY_PEM, cert: CERTIFICATE_PEM };
  const port = await portOf(t, createTlsServer(options, service.app.listener));
  const args = [`https://localhost:${port}/v1`, '--only', 'http/scheme', '--strict'];
  const { code, stdout, stderr } = await run(args, { NODE_EXTRA_CA_CERTS: certificate });
  assert.match(stdout, /\n1 hold; 0 fail; 0 not observed\n$/, stdout + stderr);
  assert.equal(code, 0);
});

test('A service that stops answering ends the run, 2', async (t) => {
  let creates = 0;
  const url = await open(t, {
    reply(reply, request) {
      creates += 1;
      if (creates < 20) return reply;
      // As if the process had ended.
      (request.socket as unknown as { server: Server }).server.close();
      request.socket.destroy();
      return reply;
    },
  });
  const { code, stdout, stderr } = await run([url]);
  assert.equal(stderr, 'conformance: the service does not respond any more\n');
  assert.match(stdout, /FAILS 2\/[^]* no response: [^]*; [0-9]+ not run\n$/);
  assert.equal(code, 2);
});

const URL_2 = 'http://127.0.0.1:2/v1';
const UNCHECKED: readonly [args: readonly string[], complaint: RegExp, key?: string][] = [
  [[], /^conformance: A base URL is needed/],
  [[URL_2, 'more'], /^conformance: One base URL only/],
  [[URL_2], /^conformance: An API key is needed/, ''],
  [['ftp://host/v1'], /The base URL must begin with http/],
  [['host/v1'], /The base URL must begin with http/],
  [['http://127.0.0.1:2/v2'], /The base URL must end in \/v1/],
  [[URL_2, '--level', 'all'], /--level is interface, decisions, http, not "all"/],
  [[URL_2, '--only', '6'], /--only: there is no check 6/],
  [[URL_2, '--only', 'http', '--level', 'interface'], /has no check at the level interface/],
  [[URL_2, '--header', 'nonsense'], /--header must be 'Name: value', not "nonsense"/],
  [[URL_2, '--category', '1.5'], /--category must be an integer, not "1\.5"/],
  [[URL_2, '--category', '9223372036854775808'], /--category must be an integer/],
  [[URL_2, '--wait', 'long'], /--wait must be a time such as 10s, not "long"/],
  [[URL_2, '--expected-failures', '/none'], /ENOENT/],
  [[URL_2, '--unknown'], /Unknown option '--unknown'/],
];

for (const [args, complaint, key = KEY] of UNCHECKED) {
  test(`Nothing is checked, 2: ${args.join(' ')} ${String(complaint)}`, async (t) => {
    const complaints: string[] = [];
    t.mock.method(process.stderr, 'write', (text: string) => complaints.push(text) > 0);
    assert.equal(await runCommand(args, { CONFORMANCE_API_KEY: key }), 2);
    assert.match(complaints.join(''), complaint);
  });
}

test('If nothing listens at the address, the command says so and exits with 2', async () => {
  // No program is given this port by chance.
  const { code, stdout, stderr } = await run([URL_2, '--wait', '1s']);
  assert.match(stderr, /^conformance: http:\S+ cannot be reached: .*ECONNREFUSED.*\n$/);
  assert.equal(stdout, '');
  assert.equal(code, 2);
});

test('A key that is not accepted, and a service of another kind: reported, 2', async (t) => {
  const url = await open(t);
  const { code, stderr } = await run([url, '--key', 'another']);
  assert.match(stderr, / does not accept the key: GET \/pets returned 401\n$/);
  assert.equal(code, 2);
  const other = createServer((_request, response) => void response.writeHead(404).end('No page'));
  const { stderr: said } = await run([`http://127.0.0.1:${await portOf(t, other)}/v1`]);
  assert.match(said, / is not a pet store service: GET \/pets returned 404\n$/);
});

test('A service that returns 404 for an empty list is checked, and that is its fault', async (t) => {
  const listed: Rules['listed'] = (pets) =>
    pets.length === 0 ? plainRules.error(404, 'There are none') : plainRules.listed(pets);
  const { code, stdout } = await run([await open(t, { listed })]);
  assert.match(stdout, /\nFAILS 4\.1\/empty .*\n {2}the status: expected 200, received 404\n/);
  assert.match(stdout, /; 1 fail; /);
  assert.equal(code, 1);
});

test('With --wait a service that starts is waited for, and without it is not ready', async (t) => {
  let requests = 0;
  const reply: Rules['reply'] = (right) => {
    requests += 1;
    return requests < 4 ? plainRules.error(503, 'Starting') : right;
  };
  const url = await open(t, { reply });
  const { code, stderr } = await run([url, '--only', '8']);
  assert.match(stderr, / is not ready: GET \/pets returned 503\n$/);
  assert.equal(code, 2);
  assert.equal((await run([url, '--only', '8', '--wait', '2m'])).code, 0);
});

test('A long run prints its progress', async (t) => {
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 800));
  const { stdout } = await run([await open(t, { pause }), '--only', '2/status-values']);
  assert.match(stdout, /\n {2}Checks done: 1, the last is 2\/status-values\n/);
});

test('--help tells of every option, --list of every check, and each id is there once', async () => {
  const { code, stdout } = await run(['--help']);
  for (const option of ['--key', '--level', '--only', '--list', '--header', '--strict', '--wait']) {
    assert.ok(stdout.includes(option), option);
  }
  assert.equal(code, 0);
  const list = (await run(['--list'])).stdout.trimEnd().split('\n');
  assert.deepEqual(
    list.map((line) => line.split(' ')[0]),
    CHECKS.map(({ id }) => id),
  );
  assert.equal(new Set(CHECKS.map(({ id }) => id)).size, CHECKS.length);
  assert.equal(new Set(CHECKS.map(({ sentence }) => sentence)).size, CHECKS.length);
  for (const { id } of CHECKS) assert.match(id, /^([0-9.]+|decisions|http)\/[a-z0-9-]+$/);
});
