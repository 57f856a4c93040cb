/** What the kit reads and shows: exact JSON, raw answers, expectations, and never the key. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnswers } from './answers.ts';
import { checksIn } from './check.ts';
import { readJson } from './exact-json.ts';
import { createReport, expectationOf } from './report.ts';
import { runCheck } from './run-checks.ts';
import { shownText } from './shown.ts';

/** Nothing is sent to it. */
const TARGET = { baseUrl: 'http://127.0.0.1:2/v1', key: 'key' };
const { demand, demandEach, decision } = checksIn('4.1');

test('Integers in JSON are exact, wherever they stand, and nothing else is changed', () => {
  const text = '{"a":9007199254740993,"b":[-1,1.5,1e2,"12",{"5":0}],"c":"\\"7\\\\","d":null}';
  assert.deepEqual(readJson(text), {
    a: 9007199254740993n,
    b: [-1n, 1.5, 100, '12', { 5: 0n }],
    c: '"7\\',
    d: null,
  });
  for (const wrong of ['01', '-', '{"a":01}', '1 2', '']) assert.throws(() => readJson(wrong));
});

test('Raw answers are read by length, in chunks, and to the end of the connection', () => {
  const bytes = [
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\né',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    '3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nA: b\r\n\r\n',
    'HTTP/1.1 204\r\nX: 1\r\nX: 2\r\n\r\n',
    'HTTP/1.0 400 Bad Request\r\n\r\nthe rest\r\n\r\n',
  ];
  const answers = readAnswers(Buffer.from(bytes.join('')), false);
  const seen = answers.map(({ status, headers, text }) => [status, headers.get('X'), text]);
  assert.deepEqual(seen, [
    [100, null, ''],
    [200, null, 'é'],
    [200, null, 'abcd'],
    [204, '1, 2', ''],
    [400, null, 'the rest\r\n\r\n'],
  ]);
  for (const wrong of ['HTTP/1.1 200 OK\r\n', 'nonsense\r\n\r\n']) {
    assert.throws(() => readAnswers(Buffer.from(wrong), false));
  }
});

test('The key is not shown, nor what the checks make of it', () => {
  const key = 'Se$cret-key';
  const forms = [key, key.toUpperCase(), key.slice(0, -1), `x${key}x`];
  const basic = Buffer.from(`:${key}`).toString('base64');
  const shown = shownText(['GET / HTTP/1.1', ...forms, basic, '', forms.join(' ')].join('\n'), key);
  assert.equal(shown, 'GET / HTTP/1.1\n***\n***\n***\nx***x\n***\n\n*** *** *** x***x');
});

test('What is long is cut, and control characters do no harm to a terminal', () => {
  const text = `GET /${'x'.repeat(999)}\r\nA: \x1b[2J\r\n\r\n${'y'.repeat(999)}\0`;
  const shown = shownText(text, 'key');
  const [line = '', field, , body = ''] = shown.split('\n');
  assert.equal(line.length, 201);
  assert.equal(field, 'A: \\x1b[2J');
  assert.equal(body, `${'y'.repeat(400)}…`);
  const fields = Array.from({ length: 30 }, (_, i) => `X-${i}: y`).join('\n');
  assert.match(shownText(fields, 'key'), /\nX-11: y\n… 18 more lines$/);
});

/** What an assertion that fails expected. */
function expected(fail: () => void): string {
  try {
    fail();
  } catch (error) {
    return expectationOf(error);
  }
  return assert.fail('It did not fail');
}

test('An expectation is one sentence, with the value that was found', () => {
  const long = 'x'.repeat(500);
  const cases: readonly [fail: () => void, sentence: string][] = [
    [() => assert.equal(200, 201, 'the status'), 'the status: 201, not 200'],
    [() => assert.equal('a', null), "null, not 'a'"],
    [() => assert.deepEqual({ id: 5n }, { id: 6n }), '{ id: 6 }, not { id: 5 }'],
    [() => assert.match('abc', /^b/, 'the name'), "the name: a match of /^b/, not 'abc'"],
    [() => assert.notEqual(0, 0, 'the count'), 'the count: not 0'],
    [() => assert.ok(false, 'an id'), 'an id'],
    [
      () => assert.equal(`${long}ab`, `${long}cd`),
      `…${'x'.repeat(40)}cd', not …${'x'.repeat(40)}ab'`,
    ],
  ];
  for (const [fail, sentence] of cases) assert.equal(expected(fail), sentence);
});

test('A report counts what holds, by what demands it, and names the cases that fail', async () => {
  const fail = async (): Promise<void> => assert.equal(1, 2, 'the sum with key');
  const checks = [
    demand('One', async () => undefined),
    demandEach('Two', ['a', 'b', 'c\0', 'key'], async (_client, item) => {
      if (item !== 'a') await fail();
    }),
    decision('Three', fail),
  ];
  const report = createReport(TARGET.key);
  const lines: string[] = [];
  for (const check of checks) lines.push(...report.linesOf(await runCheck(check, TARGET)));
  assert.deepEqual(lines, [
    '',
    'Part 4.1: List animals',
    '  ok       One',
    '  FAILED   Two',
    '           case      b',
    '           expected  the sum with ***: 2, not 1',
    '',
    '           case      c\\x00',
    '           expected  the sum with ***: 2, not 1',
    '',
    '           in all    3 of 4 cases: b; c\\x00; ***',
    '  differs  (decision) Three',
    '           expected  the sum with ***: 2, not 1',
    '',
  ]);
  assert.equal(report.summary(), 'interface: 1 of 2 hold; decisions: 0 of 1 as here');
  assert.equal(report.isPassed(false), false);
});

test('A decision that differs is a failure only strictly', async () => {
  const report = createReport(TARGET.key);
  report.linesOf(
    await runCheck(
      decision('One', async () => assert.fail('no')),
      TARGET,
    ),
  );
  assert.equal(report.isPassed(false), true);
  assert.equal(report.isPassed(true), false);
});

test('A service that does not answer fails a check, which says so', async () => {
  const check = demand('One', async (client) => void (await client.get('/pets')));
  const { failures } = await runCheck(check, TARGET);
  assert.match(expectationOf(failures[0]?.error), /^an answer, but there was none: /);
  assert.match(failures[0]?.exchanges[0]?.received ?? '', /^no answer: .*ECONNREFUSED/);
});
