/**
 * The kit finds the fault of each wrong service, and none in valid services. Requests without a
 * response, or with 429; what prevents a run of any check; and what a report shows of a text. The
 * evidence of failures is in faults.ts, whole reports in command.test.ts.
 */

import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { checksOf } from '../../src/extras/kit/checks.ts';
import { reasonOf, textOf } from '../../src/extras/kit/report.ts';
import { awaitService, Run } from '../../src/extras/kit/run.ts';
import { plainText, secretsOf, shownText } from '../../src/extras/kit/shown.ts';
import { NoResponse, readRetryAfter, TestClient } from '../../src/extras/kit/test-client.ts';
import { isWhole } from '../support/extent.ts';
import { HOUR_MS, listen } from '../support/http/listen.ts';
import { TestsOfCases } from '../support/run-before-tests.ts';
import { EVIDENCE, FAULTS } from './faults.ts';
import { leavingBodies } from './left-bodies.ts';
import { otherDecisions, otherForms, thirdDecisions } from './other-decisions.ts';
import { KEY, openPlain, outcomesOf, plainRules, type Rules } from './plain-service.ts';

const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');

/** The checks on which the removal of getPet has an effect; with --all, all of the interface. */
const REMOVAL_IDS = ['2/pet-carries', '3', '4', '4.2', '4.3', '5', '7', '9'];
const REMOVAL_CHECKS = checksOf('interface', isWhole ? [] : REMOVAL_IDS);
/** The checks that send a request without the key; with --all, all of the interface. */
const REFUSED_IDS = ['2/error-fields', '4', '4.2/not-added', '5', '7'].concat(
  ['4.1', '4.2', '4.3'].map((id) => `${id}/unauthorized`),
);

/** Resolves with the checks that do not hold, each with its kind. */
async function othersOf(rules: Partial<Rules>, checks = checksOf('interface')) {
  const ends: (() => unknown)[] = [];
  const outcomes = await outcomesOf({ after: (end) => ends.push(end) }, rules, checks);
  for (const end of ends) await end();
  return outcomes.flatMap(({ check, kind }) => (kind === 'hold' ? [] : [`${check.id} ${kind}`]));
}

const isSeen = (text: string): boolean => !text.endsWith(' not observed');
const tests = new TestsOfCases();

/** What the plain service does not pass. */
const plainOthers = await othersOf({}, checksOf('http'));
/** The decisions for which it differs. */
const plainDiffers = new Set(plainOthers.filter((text) => text.endsWith(' differ')));

await tests.pass(
  'The plain service passes every check, and those of faults at each level',
  async () => {
    const ids = ['2/status-null', '4.1/pages', '4.1/pages-address', '4.1/pages-filter'];
    const unseen = ['4.2/location', '9/removal', 'decisions/last-page', 'http/other-type-code'];
    const expected = [...ids, ...unseen].map((id) => `${id} not observed`);
    const unseenHere = plainOthers.filter((text) => !plainDiffers.has(text));
    assert.deepEqual(unseenHere, expected);
    const day = checksOf('http', ['decisions/pet-id-code', 'decisions/removal']);
    const past = await othersOf({ now: () => AFTER_REMOVAL_MS }, day);
    const dayIds = day.map(({ id }) => `${id} not observed`);
    assert.deepEqual(past, dayIds);
    const isName = (value: unknown): boolean => /^Conf/.test(String(value));
    const named = await othersOf({ isName }, checksOf('interface', ['4.2/not-added', '4.2/once']));
    assert.deepEqual(named, ['4.2/once not observed', '4.2/not-added not observed']);
    const titles = Object.keys(FAULTS);
    const complaints = titles.filter((title) => plainDiffers.has(`${checkOf(title)} differ`));
    return { cases: titles.length, complaints };
  },
);

for (const [name, rules] of Object.entries({ otherDecisions, thirdDecisions })) {
  const title = `The valid service ${name} fails no check, before and after getPet is removed`;
  await tests.pass(title, async () => {
    const removed = { ...rules, now: () => AFTER_REMOVAL_MS };
    const others = [await othersOf(rules), await othersOf(removed, REMOVAL_CHECKS)].flat();
    return { cases: 2, complaints: others.filter(isSeen) };
  });
}

await tests.pass(
  'In other forms the plain service fails no check, and differs in no other decision',
  async () => {
    const others = await othersOf(otherForms, checksOf(isWhole ? 'http' : 'interface'));
    const complaints = others.filter((text) => isSeen(text) && !plainDiffers.has(text));
    return { cases: 1, complaints };
  },
);

await tests.pass(
  'What is left of a refused request on a connection fails one check, and no other',
  async () => {
    const front: Rules['front'] = (port) => leavingBodies(port, (header) => !header.includes(KEY));
    const others = await othersOf({ front }, checksOf('interface', isWhole ? [] : REFUSED_IDS));
    assert.deepEqual(others.filter(isSeen), ['4/rest fail']);
    return { cases: 1, complaints: [] };
  },
);

tests.report();

test('A request that gets 429 is sent again after its Retry-After, up to five times', async (t) => {
  const fields = ['0', '7', 'Sat, 21 Nov 2026 12:00:00 GMT', null];
  assert.deepEqual(fields.map(readRetryAfter), [0, 7, 1, 1]);
  for (const [id, refusals, kind] of [
    ['4.2/created', 5, 'hold'],
    ['4.2/created', 6, 'fail'],
    ['http/head', 5, 'hold'],
    ['http/head', 6, 'differ'],
  ] as const) {
    let requests = 0;
    const reply: Rules['reply'] = (right, { method, headers }) => {
      // A probe of the connection has no User-Agent, and is not one of the check's own requests.
      requests += Number(method === 'HEAD' || (method === 'POST' && 'user-agent' in headers));
      if (method === 'GET' || requests > refusals) return right;
      return { ...plainRules.error(429, 'Too often'), fields: { 'Retry-After': '0.01' } };
    };
    const [outcome] = await outcomesOf(t, { reply }, checksOf('http', [id]));
    assert.equal(outcome?.kind, kind);
    if (kind === 'fail') assert.equal(requests, 6);
  }
});

test('Each response on a connection is judged, after hints, in chunks and with a rate limit', async (t) => {
  const hinted: Partial<Rules> = {
    error: (status) => plainRules.error(status, 'HTTP/1.1 404 unknown'),
    end(response, text) {
      response.writeEarlyHints({ link: '</pets.css>; rel=preload' });
      response.write(text.slice(0, 9));
      response.end(text.slice(9));
    },
  };
  const front: Rules['front'] = (port) => leavingBodies(port, (header) => !header.includes(KEY));
  let requests = 0;
  const limited = (isOften: (request: IncomingMessage) => boolean): Rules['reply'] => {
    const refusal = { ...plainRules.error(429, 'Often'), fields: { 'Retry-After': '0.01' } };
    return (right, request) => (isOften(request) ? refusal : right);
  };
  const unreadable: Rules['end'] = (response, text) => {
    const { method, headers, socket } = response.req;
    if (method === 'HEAD' || 'user-agent' in headers) return void response.end(text);
    socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'0'.repeat(1 << 20)}`);
  };
  for (const [rules, expected] of [
    [hinted, 'hold'],
    // The length of a chunk has a million digits, and no end.
    [{ end: unreadable }, 'hold'],
    [{ ...hinted, front }, 'fail'],
    [{ reply: limited(() => (requests += 1) % 3 === 0) }, 'hold'],
    // Only the first request of each connection.
    [{ reply: limited(({ headers }) => 'content-type' in headers) }, 'not observed'],
  ] as const) {
    const [rest, head] = await outcomesOf(t, rules, checksOf('http', ['4/rest', 'http/head']));
    assert.deepEqual([rest?.kind, head?.kind], [expected, 'hold']);
  }
});

const MEGABYTE = Buffer.alloc(1 << 20, 'x');

/** Sends a body that does not end. */
function sendForever(response: ServerResponse): void {
  if (response.destroyed) return;
  while (response.write(MEGABYTE));
  response.once('drain', () => sendForever(response));
}

test('A request without a response ends its check, says why, and the run goes on', async (t) => {
  const destroy = ({ socket }: ServerResponse): unknown => socket?.destroy();
  for (const [end, reason] of [
    [destroy, /^no response: other side closed \(available\)$/],
    [sendForever, /^no response: a body of more than 128 MiB \(available\)$/],
  ] as const) {
    const rules: Partial<Rules> = {
      end: (response, text) =>
        void (response.req.method === 'POST' ? end(response) : response.end(text)),
    };
    const run = new Run(await openPlain(t, rules));
    const [creating, getting] = checksOf('interface', ['2/status-values', '4.3/not-found']);
    const outcome = await run.outcomeOf(creating!);
    assert.match(reasonOf(outcome), reason);
    // What had come of the response is shown.
    const received =
      end === sendForever ? /^status \d+\n[^]*\nthen no response: / : /^no response: /;
    assert.match(outcome.causes[0]!.received!, received);
    assert.deepEqual([outcome.kind, (await run.outcomeOf(getting!)).kind], ['fail', 'hold']);
  }
  const { baseUrl } = await openPlain(t, { pause: () => new Promise<void>(() => undefined) });
  for (const [target, message] of [
    [{ baseUrl, timeoutMs: 50 }, 'no complete response within 0.05 s'],
    [{ baseUrl: URL_6000 }, 'no response: fetch, like browsers, refuses the port 6000'],
  ] as const) {
    const client = new TestClient({ ...target, key: KEY, headers: { 'X-Gate': 'k3y' } });
    await assert.rejects(client.ask('POST /pets'), { message });
    assert.equal(client.lastExchange.received, message);
    assert.match(client.lastExchange.sent, /\nx-gate: \*\*\*$/m);
  }
});

test('A service that closes a connection unannounced after an error fails no check', async (t) => {
  const refused = new WeakSet<object>();
  const reply: Rules['reply'] = (right, { socket }) => {
    if (refused.has(socket)) socket.destroy();
    if (right.status >= 400) refused.add(socket);
    return right;
  };
  const [outcome] = await outcomesOf(t, { reply }, checksOf('interface', ['2/status-others']));
  assert.deepEqual([outcome?.kind, outcome?.causes], ['hold', []]);
});

test('A response to HEAD may take its time, also after many hints, and ends a moment after its header', async (t) => {
  const hints = 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(60);
  const server = createServer(async (socket) => {
    socket.on('error', () => undefined);
    socket.write(`${hints}HTTP/1.1 200 OK\r\n`);
    // Longer than the kit waits after the header. The connection stays open.
    for (let sent = 0; sent < 12; sent += 1) {
      await sleep(100);
      socket.write('X: x\r\n');
    }
    socket.write('\r\n');
  });
  t.after(() => void server.close());
  const target = { baseUrl: `http://127.0.0.1:${await listen(server)}/v1`, key: KEY };
  const client = new TestClient({ ...target, timeoutMs: HOUR_MS });
  assert.equal((await client.head('/pets')).status, 200);
  // Its time is up, although it never pauses for so long.
  await assert.rejects(new TestClient({ ...target, timeoutMs: 500 }).head('/pets'), NoResponse);
});

test('A Link that cannot be read is refused at once, however many parameters it has', async (t) => {
  const reply: Rules['reply'] = (right) => ({
    ...right,
    fields: { Link: `<a>${';  '.repeat(50)}"` },
  });
  const [outcome] = await outcomesOf(t, { reply }, checksOf('interface', ['4.1/once']));
  assert.match(outcome!.causes[0]!.text, /^expected a Link that can be read/);
});

const URL_6000 = 'http://127.0.0.1:6000/v1';

test('Only a pet store service that accepts the key is checked, when it has started', async (t) => {
  let status = 502;
  const starting = (): Partial<Rules> => ({
    reply(right) {
      status += 1;
      return status > 505 ? right : plainRules.error(status - 1, 'Starting');
    },
  });
  // Each row has its whole time, on any machine.
  t.mock.method(Date, 'now', () => 0);
  const silent = (requests: number): Partial<Rules> => {
    let missing = requests;
    return { end: (response, text) => void ((missing -= 1) < 0 && response.end(text)) };
  };
  const odd = { listed: () => plainRules.error(404, 'An empty list') };
  for (const [rules, obstacle, waitMs = HOUR_MS] of [
    [{ hasKey: () => false }, 'does not accept the key: GET /pets gave status 401'],
    [
      { reply: () => ({ status: 404, body: 'No page' }) },
      'is not a pet store service: GET /pets gave status 404',
    ],
    [odd, undefined],
    // A failure is for the checks to report.
    [{ listed: () => plainRules.error(500, 'A fault') }, undefined, 0],
    [starting(), 'is not ready: GET /pets gave status 502', 0],
    [starting(), undefined],
    [silent(1), undefined, 2000],
    [silent(9), 'is not ready: GET /pets gave no complete response within 1 s', 1],
  ] as const) {
    const target = await openPlain(t, rules);
    const found = await awaitService(target, waitMs).catch((error: Error) => error.message);
    assert.equal(found, obstacle && `${target.baseUrl} ${obstacle}`);
  }
  assert.equal(status, 506);
});

const SECRET = 'Secret-of-9+';
const BASE64 = Buffer.from(`:${SECRET}`).toString('base64');

const TEXTS: readonly (readonly [what: string, text: string, shown: string, key?: string])[] = [
  ['the key', `Bearer ${SECRET}, ${SECRET}x`, 'Bearer ***, ***x'],
  ['the key in the other case', `Bearer ${SECRET.toUpperCase()}`, 'Bearer ***'],
  ['the key without its last letter', `Bearer ${SECRET.slice(0, -1)}`, 'Bearer ***'],
  ['the key as the scheme Basic sends it', `Basic ${BASE64}`, 'Basic ***'],
  [
    'the key as JSON, URLs and pages of HTML escape it',
    String.raw`Secret\-of\-9\+ Secret-of-9%2B Secret-of-9\u002b Secret&#45;of-9&plus;`,
    '*** *** *** ***',
  ],
  ['a short key only as a whole word', 'a Rex a,a-b', '*** Rex ***,a-b', 'a'],
  ['forms of a short key', 'ninex xnine nin Om5pbmU= nines', '*** *** *** *** nines', 'nine'],
  ['control characters', 'a\x1b[31m\0\t\x9f\nb', 'a\\u001b[31m\\u0000\\u0009\\u009f\nb'],
  [
    'characters that XML does not allow',
    ']]> \ufffe \uffff \ud800 \udfff🐕',
    ']] > \\ufffe \\uffff \\ud800 \\udfff🐕',
  ],
];

test('A report shows a text safely, and truncates long lines, a long header and a long body', () => {
  for (const [what, text, shown, key = SECRET] of TEXTS) {
    assert.equal(plainText(text, [key]), shown, what);
  }
  assert.equal(plainText(`${SECRET}-more`, [SECRET, `${SECRET}-more`]), '***');
  const headers = { 'X-Gate': SECRET, 'X-Shop': 'a' };
  assert.deepEqual(secretsOf({ baseUrl: URL_6000, key: KEY, headers }), [KEY, SECRET]);
  const fields = Array.from({ length: 20 }, (_, i) => `field-${i}: ${'x'.repeat(300)}`);
  const message = ['GET /', ...fields, '', 'y'.repeat(1000)].join('\r\n');
  const lines = shownText(message, [SECRET]).split('\n');
  assert.deepEqual([lines.length, lines[1]?.length, lines[12]], [15, 201, '… 9 more lines']);
  assert.equal(lines.at(-1), `${'y'.repeat(400)}…`);
});

for (const [title, rules] of Object.entries(FAULTS)) {
  test(`The kit finds a fault, and shows it: ${title}`, async (t) => {
    const [check] = checksOf('http', [checkOf(title)]);
    const [outcome] = await outcomesOf(t, rules, [check!]);
    assert.equal(outcome?.kind, check!.level === 'interface' ? 'fail' : 'differ');
    assert.match(textOf(outcome), EVIDENCE[title] ?? /^/);
    assert.equal(reasonOf(outcome).split(' | ').length, outcome.causes.length);
  });
}

function checkOf(title: string): string {
  return title.split(' ', 1)[0]!;
}
