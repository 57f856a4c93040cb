/**
 * The command `petstore conformance` from outside: its report, options and exit codes. What one
 * module decides (obstacles, evidence, causes) is in run.test.ts.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CHECKS } from '../../src/kit/checks.ts';
import { conformance } from '../../src/kit/command.ts';
import { runProgram } from '../../src/process/commands.ts';
import { runScript, type Result } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { otherDecisions } from './other-decisions.ts';
import { KEY, openPlain, RIGHT, type Rules } from './plain-service.ts';

const CREATED_200: Partial<Rules> = { created: (pet) => ({ status: 200, body: pet }) };

function run(args: readonly string[]): Promise<Result> {
  return runScript('start.mjs', ['conformance', ...args], { CONFORMANCE_API_KEY: KEY });
}

/** Returns the base URL of a service that runs until the test ends. */
async function open(t: TestContext, rules: Partial<Rules> = {}): Promise<string> {
  return (await openPlain(t, rules)).baseUrl;
}

test('For a valid service the report counts the checks, and the exit code is 0', async (t) => {
  // A gateway requires a field, which --header adds to each request.
  const hasKey: Rules['hasKey'] = (given, { headers }) =>
    headers['x-gateway'] === 'g' && given === RIGHT;
  const args = ['--only', '4.1', '--only', '9', '--header', 'X-Gateway: g'];
  const { code, stdout, stderr } = await run([await open(t, { hasKey }), ...args]);
  assert.equal(stderr, '');
  assert.match(
    stdout,
    /^petstore conformance [0-9.]+, interface 1\.0\.0, http:\S+\n( {2}Checks done.*\n)*\nNot observed:\n/,
  );
  assert.match(
    stdout,
    /\n {2}9\/removal that day is to come\n\n[0-9]+ hold; 0 fail; 4 not observed\n$/,
  );
  assert.equal(code, 0);
});

test('A failure is reported with its id, expectation, request and response, once per cause', async (t) => {
  const error: Rules['error'] = (status) => ({ status, body: 'text' });
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
  assert.equal(code, 1);
});

test('The report, JUnit and the exit code agree on differences and expected failures', async (t) => {
  const output = join(tempDir(t), 'conformance.xml');
  const list = join(tempDir(t), 'expected-failures');
  writeFileSync(list, '# Until the framework is replaced\n4.2/created # 200\n');
  const only = ['4.2', 'decisions/limit', 'decisions/order'].flatMap((id) => ['--only', id]);
  const args = [...only, '--reporter', 'junit', '--output', output];
  const expected = ['--expected-failures', list];
  const other = await open(t, otherDecisions);
  const wrong = await open(t, CREATED_200);
  const cause =
    /With --strict[^]*\nDIFFERS decisions\/limit .*\n {2}the status: expected 400, received 200\n {2}in {8}limit=, limit, .*\n {2}sent {6}GET \/v1\/pets\?limit=\n[^]* {2}received {2}status 200\n/;
  for (const [given, failures, said] of [
    [[other, ...args], 0, cause],
    [[other, ...args, '--strict'], 2, /\nFAILS decisions\/limit /],
    [
      [wrong, ...args, ...expected],
      0,
      /\n10 hold; 0 fail; 1 not observed; 1 differ; 1 expected to fail\n$/,
    ],
    [[other, ...args, ...expected], 1, /FAILS 4\.2\/created .*\n.* holds: remove it from the exp/],
  ] as const) {
    const { code, stdout } = await run(given);
    const xml = readFileSync(output, 'utf8');
    assert.match(xml, /<testcase name="4\.2\/created POST \/pets adds an animal: 201"/);
    const found = xml.match(/<failure/g)?.length ?? 0;
    assert.deepEqual([found, code], [failures, failures === 0 ? 0 : 1], given.join(' '));
    assert.match(stdout, said);
  }
});

test('A long run prints its progress every two seconds', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const reply: Rules['reply'] = (right) => (t.mock.timers.tick(1500), right);
  const only = ['4.2/created', '4.2/body-required', '8/never-more'].flatMap((id) => ['--only', id]);
  const { text } = await runHere([await open(t, { reply }), ...only]);
  const progress = text.match(/^ {2}Checks done: .*$/gm);
  const [second, third] = ['2, last: 4.2/body-required', '3, last: 8/never-more'];
  assert.deepEqual(progress, [`  Checks done: ${second}`, `  Checks done: ${third}`]);
});

test('A service that stops responding ends the run with exit code 2, with any reporter', async (t) => {
  for (const [args, said] of [
    [[], /FAILS 2\/[^]* no response: [^]*; [0-9]+ not run\n$/],
    [['--reporter', 'tap'], /# SKIP not run: the service no longer responds\n/],
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
    assert.equal(stderr, 'petstore: the service no longer responds\n');
    assert.match(stdout, said);
    assert.equal(code, 2);
  }
});

test('A reporter that Node does not have, or a file that cannot be written, is exit code 2', async (t) => {
  const url = await open(t);
  for (const options of [['--reporter=none'], ['--reporter=tap', '--output=/none/report.txt']]) {
    assert.equal((await run([url, '--only', '9', ...options])).code, 2, options.join(' '));
  }
  const { code, stdout } = await run([url, '--only', '9', '--output=/none/report.txt']);
  assert.deepEqual([code, stdout], [2, ''], 'No check is run');
});

test('Without a reporter, --output writes the report to a file, too', async (t) => {
  const output = join(tempDir(t), 'report.txt');
  const { code, text } = await runHere([await open(t), '--only', '9', '--output', output]);
  assert.deepEqual([code, readFileSync(output, 'utf8')], [0, text]);
});

test('If nothing listens at the address, the command says so and exits with 2', async () => {
  const { code, stdout, stderr } = await run([URL_2]);
  assert.match(stderr, /^petstore: http:\S+ gave no response: .*ECONNREFUSED.*\n$/);
  assert.deepEqual([stdout, code], ['', 2]);
});

/** The kernel does not assign port 2 to a program. */
const URL_2 = 'http://127.0.0.1:2/v1';
const UNCHECKED: readonly [args: readonly string[], message: RegExp, key?: string][] = [
  [[], /^A base URL is needed/],
  [[URL_2, 'more'], /^Unexpected argument 2/],
  [[URL_2], /^An API key is needed/, ''],
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
  [[URL_2, '--unknown'], /Unknown option --unknown/],
];

/** Runs the command in this process. Resolves with its exit code and what it wrote. */
async function runHere(args: readonly string[], key = KEY) {
  let text = '';
  const print = (piece: string): void => void (text += piece);
  const context = { env: { CONFORMANCE_API_KEY: key }, print, showProgress: () => undefined };
  const code = await runProgram(['conformance', ...args], conformance, context, print);
  return { code, text };
}

for (const [args, message, key] of UNCHECKED) {
  test(`The command line '${args.join(' ')}' is refused with exit code 2: ${message}`, async () => {
    const { code, text } = await runHere(args, key);
    assert.match(text, message);
    assert.equal(code, 2);
  });
}

test('--help names the options, and --list every check, each with its own id', async () => {
  const { code, text } = await runHere(['--help']);
  for (const option of ['--key', '--level', '--only', '--list', '--header', '--strict', '--wait']) {
    assert.ok(text.includes(option), option);
  }
  assert.equal(code, 0);
  const list = (await runHere(['--list'])).text.trimEnd().split('\n');
  assert.deepEqual(
    list.map((line) => line.split(' ')[0]),
    CHECKS.map(({ id }) => id),
  );
  assert.equal(new Set(CHECKS.map(({ id }) => id)).size, CHECKS.length);
  assert.equal(new Set(CHECKS.map(({ sentence }) => sentence)).size, CHECKS.length);
  for (const { id } of CHECKS) assert.match(id, /^([0-9.]+|decisions|http)\/[a-z0-9-]+$/);
});
