/**
 * The command `petstore conformance` from outside: its report, options and exit codes. What one
 * module decides (obstacles, evidence, causes) is in run.test.ts.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CHECKS } from '../../src/extras/kit/checks.ts';
import { conformance } from '../../src/process/kit.ts';
import { runHere } from '../process/calls.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { otherDecisions } from './other-decisions.ts';
import { KEY, openPlain, RIGHT, type Rules } from './plain-service.ts';

const CREATED_200: Partial<Rules> = { created: (pet) => ({ status: 200, body: pet }) };

/** Runs the command in this process. Resolves with its exit code and what it wrote. */
async function run(args: readonly string[], env: Record<string, string> = {}) {
  const all = { CONFORMANCE_API_KEY: KEY, CONFORMANCE_TIMEOUT: '60m', ...env };
  const { stderr, ...written } = await runHere(['conformance', ...args], '.', all);
  return { ...written, stderr: stderr.replaceAll('petstore: ', '') };
}

/** Returns the base URL of a service that runs until the test ends. */
async function open(t: TestContext, rules: Partial<Rules> = {}): Promise<string> {
  return (await openPlain(t, rules)).baseUrl;
}

test('A valid service passes, as a command and as a test file, with options of either kind', async (t) => {
  // A gateway requires a field.
  const hasKey: Rules['hasKey'] = (given, { headers }) =>
    headers['x-gateway'] === 'g' && given === RIGHT;
  const url = await open(t, { hasKey });
  const env = { CONFORMANCE_API_KEY: KEY, CONFORMANCE_ONLY: '4.1\n9' };
  const output = join(tempDir(t), 'report.txt');
  const headers = ['--header', 'X-Shop: a', '--header', 'X-Gateway: g'];
  const command = await run([`${url}/`, ...headers, '--output', output], env);
  const title = `petstore conformance \\S+, interface 1\\.0\\.0, ${url}`;
  const removal = '9/removal that day is to come';
  const report = `^${title}\n\nNot observed:\n[^]*\n  ${removal}\n\n[0-9]+ hold; 0 fail; 4 not observed\n$`;
  assert.match(command.stdout, new RegExp(report));
  assert.deepEqual([command.code, command.stderr], [0, '']);
  assert.equal(readFileSync(output, 'utf8'), command.stdout);
  const wrong = await run([url], { ...env, CONFORMANCE_LEVEL: 'all' });
  assert.match(wrong.stderr, /CONFORMANCE_LEVEL must be interface, decisions, http, not "all"/);
  assert.equal(wrong.code, 2);
});

test('A failure is reported with its id, expectation, request and response, once per cause', async (t) => {
  const error: Rules['error'] = (status) => ({ status, body: `text ${KEY}` });
  const only = ['4.2/created', '2/error-fields', '7/error'].flatMap((id) => ['--only', id]);
  const { code, stdout } = await run([await open(t, { ...CREATED_200, error }), ...only]);
  for (const text of [
    '\nFAILS 4.2/created POST /pets adds an animal: 201\n',
    '\n  the status: expected 201, received 200\n',
    '\n  sent      POST /v1/pets\n            authorization: Bearer ***\n',
    '\n            {"name":"Conformance Kit","categoryId":1}\n',
    '\n  received  status 200\n',
    '\n  also     7/error Every error response body is an Error object (missing fields, ',
    '\n0 hold; 3 fail; 0 not observed\n',
  ]) {
    assert.ok(stdout.includes(text), `${text} in ${stdout}`);
  }
  assert.ok(!stdout.includes(KEY));
  assert.ok(!stdout.includes('\nFAILS 7/error'));
  assert.equal(code, 1);
});

test('Only checks whose causes are all the same are reported together', async (t) => {
  // The second cause, of a missing pet, is only one of the second check.
  const reply: Rules['reply'] = (right, { method, url = '' }) => {
    if (method === 'POST' && right.status === 400) return { ...right, body: 'text' };
    return url.includes('/pets/') ? { ...right, body: { code: 1 } } : right;
  };
  const only = ['2/error-fields', '7/error'].flatMap((id) => ['--only', id]);
  const { stdout } = await run([await open(t, { reply }), ...only]);
  assert.match(stdout, /\nFAILS 2\/error-fields [^]*\nFAILS 7\/error [^]*\n  the type of code: /);
});

test('The report, JUnit and the exit code agree on differences and expected failures', async (t) => {
  const output = join(tempDir(t), 'conformance.xml');
  // As from a file: "$(cat FILE)".
  const list = '# Until the framework is replaced\n4.2/created # 200\n';
  const ids = ['4.2/created', '4.2/pet', '4.2/location', 'decisions/limit', 'decisions/order'];
  const only = ids.flatMap((id) => ['--only', id]);
  const args = [...only, '--reporter', 'junit', '--output', output];
  const expected = ['--expected-failures', list];
  const other = await open(t, otherDecisions);
  const wrong = await open(t, CREATED_200);
  const cause =
    /With --strict[^]*\nDIFFERS decisions\/limit .*\n {2}the status: expected 400, received 200\n {2}in {8}limit=, limit, .*\n {2}sent {6}GET \/v1\/pets\?limit=\n[^]* {2}received {2}status 200\n/;
  const counts = /\n2 hold; 0 fail; 1 not observed; 1 expected to fail; 1 differ\n$/;
  for (const [given, failures, said] of [
    [[other, ...args], 0, cause],
    [[other, ...args, '--strict'], 2, /\nFAILS decisions\/limit /],
    [[other, ...args, '--strict=off'], 0, cause],
    [[wrong, ...args, ...expected], 0, counts],
    [[other, ...args, ...expected], 1, /FAILS 4\.2\/created .*\n.* holds: remove it from the exp/],
  ] as const) {
    const { code, stdout } = await run(given);
    const xml = readFileSync(output, 'utf8');
    assert.match(xml, /<testsuite name="petstore conformance .*" tests="5" failures="[0-2]" /);
    assert.match(xml, /<testcase name="4\.2\/created POST \/pets adds an animal: 201"/);
    const found = xml.match(/<failure type="testCodeFailure" /g)?.length ?? 0;
    assert.deepEqual([found, code], [failures, failures === 0 ? 0 : 1], given.join(' '));
    assert.match(stdout, said);
  }
  const xml = readFileSync(output, 'utf8');
  assert.equal((await run([URL_2, ...args])).code, 2);
  assert.equal(readFileSync(output, 'utf8'), xml);
  // Without --output it is printed, with the exchange, and without a position in the kit.
  const { code, stdout } = await run([wrong, '--only=4.2/created', '--reporter', 'junit']);
  assert.match(stdout, /<testcase name="4\.2\/created [^]*>\n\[?the status: .*\n {2}sent {6}POST /);
  assert.match(stdout, /<testsuite .* time="[0-9.]+"/);
  assert.doesNotMatch(stdout, /\n +at |failureType|time="0\.0+"/);
  assert.equal(code, 1);
});

test('A service that stops responding ends the run with exit code 2, with any reporter', async (t) => {
  for (const [args, said] of [
    [[], /FAILS 2\/[^]* no response: [^]*; [0-9]+ not run\n$/],
    [['--only', 'decisions'], /FAILS decisions[^]* no response: [^]*; [0-9]+ not run\n$/],
    [['--reporter', 'junit'], /<skipped .* message="not run: the service no longer responds"/],
  ] as const) {
    let requests = 0;
    const url = await open(t, {
      reply(reply, { socket }) {
        requests += 1;
        if (requests < 20) return reply;
        // As if the process had ended.
        (socket as unknown as { server: Server }).server.close();
        socket.destroy();
        return reply;
      },
    });
    const { code, stdout, stderr } = await run([url, ...args]);
    assert.equal(stderr, 'the service no longer responds\n');
    assert.match(stdout, said);
    assert.equal(code, 2);
  }
});

/** The kernel does not assign port 2 to a program. */
const URL_2 = 'http://127.0.0.1:2/v1';
const URL_EXPECTED = 'BASE_URL must be a URL such as https://host/v1, which ends in /v1, not';

/** Arguments, the whole message, and variables. */
const UNCHECKED: readonly [args: string, message: string | RegExp, env?: Record<string, string>][] =
  [
    ['', /^BASE_URL or CONFORMANCE_URL must be a URL such as https:\/\/host\/v1, which ends in /],
    [`${URL_2} more`, 'Unexpected argument 2: see --help'],
    [URL_2, '--key or CONFORMANCE_API_KEY must be an API key', { CONFORMANCE_API_KEY: '' }],
    [URL_2, 'CONFORMANCE_API_KEY must be an API key', { CONFORMANCE_API_KEY: 'not one' }],
    [URL_2, 'CONFORMANCE_STRICT must be on or off, not "no"', { CONFORMANCE_STRICT: 'no' }],
    // It may be the API key.
    ['Secret-key', URL_EXPECTED.replace(', not', '')],
    ['http://host:99999/v1', `${URL_EXPECTED} "http://host:99999/v1"`],
    ['ftp://host/v1', `${URL_EXPECTED} "ftp://host/v1"`],
    ['https://host/v2', `${URL_EXPECTED} "https://host/v2"`],
    ['https://me:secret@host/v2', `${URL_EXPECTED} "https://…@host/v2"`],
    [
      'host/v1 --wait long --level all --category 1.5',
      `--level must be interface, decisions, http, not "all"
${URL_EXPECTED} "host/v1"
--category must be an integer of 64 bits, not "1.5"
--wait must be a time such as 10s or 2m, not "long"`,
    ],
    [`${URL_2} --only 4.1 --only 6`, '--only must be ids of --list, not "6"'],
    [
      `${URL_2} --only limit-maximun`,
      '--only must be ids of --list, not "limit-maximun": did you mean 4.1/limit-maximum?',
    ],
    [
      `${URL_2} --expected-failures 4.2/locations`,
      '--expected-failures must be ids of --list, not "4.2/locations": did you mean 4.2/location?',
    ],
    [`${URL_2} --header Authorization=secret`, "--header must be 'Name: value'"],
    [`${URL_2} --header X:€`, "--header must be 'Name: value'"],
    [`${URL_2} --timeout 0s`, '--timeout must be a time such as 10s or 2m, not "0s"'],
    [
      URL_2,
      'CONFORMANCE_EXPECTED_FAILURES must be ids of --list, not "4.9 # gone"',
      { CONFORMANCE_EXPECTED_FAILURES: '# A comment\n\n4.1\n4.9 # gone\n' },
    ],
    [`${URL_2} --reporter tap`, '--reporter must be junit, not "tap"'],
    [`${URL_2} --output a --output b`, '--output must be one path, not "a\\nb"'],
    [`${URL_2} --output /none/report.txt`, /^ENOENT/],
    [URL_2, /^http:\S+ is not ready: GET \/pets gave no response: .*ECONNREFUSED/],
  ];

for (const [args, message, env] of UNCHECKED) {
  test(`The command line '${args}' is refused with exit code 2: ${message}`, async () => {
    const { code, stdout, stderr } = await run(args === '' ? [] : args.split(' '), env);
    if (typeof message === 'string') assert.equal(stderr, `${message}\n`);
    else assert.match(stderr, message);
    assert.deepEqual([code, stdout], [2, '']);
  });
}

test('--help names the options, and --list every check, each with its own id', async () => {
  const { code, stdout } = await run(['--help']);
  const shown = Array.from(stdout.matchAll(/^ {2}--(\S+)/gm), ([, flag]) => flag);
  assert.deepEqual(shown.sort(), [...Object.keys(conformance.flags!), 'help'].sort());
  assert.equal(code, 0);
  const list = (await run(['--list'])).stdout.trimEnd().split('\n');
  const ids = CHECKS.map(({ id }) => id);
  const listed = list.map((line) => line.split(' ')[0]);
  assert.deepEqual(listed, ids);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(new Set(CHECKS.map(({ sentence }) => sentence)).size, CHECKS.length);
  for (const id of ids) assert.match(id, /^([0-9.]+|decisions|http)\/[a-z0-9-]+$/);
});
