/** One check and its result: causes, cases, evidence; and what prevents a run of any check. */

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { test, type TestContext } from 'node:test';
import { checksOf } from '../../src/kit/checks.ts';
import { obstacleTo, runCheck, type CheckResult } from '../../src/kit/run-check.ts';
import { listenFor } from '../support/http/service.ts';
import { KEY, resultsOf } from './fault-table.ts';
import { linked, pageOf } from './other-decisions.ts';
import { createPlainServer, plainRules, type Rules } from './plain-service.ts';

type Failed = Extract<CheckResult, { kind: 'fails' | 'gone' }>;

/** Resolves with the result of a check, which must fail, for a service with these rules. */
async function failureOf(id: string, rules: Partial<Rules>): Promise<Failed> {
  const results = await resultsOf(rules, checksOf('http', [id]));
  const result = results.get(id);
  assert.ok(result?.kind === 'fails', `${id} ${result?.kind}`);
  return result;
}

async function start(t: TestContext, server: Server): Promise<string> {
  return `http://127.0.0.1:${await listenFor(t, server)}/v1`;
}

test('A check runs all its cases in order, and reports each cause with its cases', async () => {
  const isName: Rules['isName'] = (value) =>
    value === null || typeof value === 'string' || value instanceof Object;
  const error: Rules['error'] = (_status, message) => plainRules.error(422, message);
  const { causes, report } = await failureOf('2/name-type', { isName, error });
  const [accepted, refused] = [
    'the status: expected 400, received 201',
    'the status: expected 400, received 422',
  ];
  const cases = '{"name":null}, {"name":[]}, {"name":["Rex"]}, {"name":{}} and 1 more';
  const others = '{"name":true}, {"name":false}, {"name":0}, {"name":1.5}';
  assert.deepEqual(causes, [`${accepted} (${cases})`, `${refused} (${others})`]);
  for (const line of [`${accepted}\n  in        ${cases}\n`, `  ${refused}\n`]) {
    assert.ok(report.includes(line), report);
  }
  // A case of a table has the name of its row.
  const noCode = await failureOf('7/error', { error: (status) => ({ status, body: {} }) });
  assert.match(noCode.causes[0] ?? '', /received 'undefined' \(missing fields, invalid values, /);
});

const EVIDENCE: readonly [id: string, what: string, rules: Partial<Rules>, RegExp[]][] = [
  [
    '2/category-zero',
    'the response that a later one is compared with',
    { isCategory: (value) => value !== 0n && plainRules.isCategory(value) },
    [/expected 0 accepted, as 1914638257 is/, /"categoryId":0\D[^]*\n {2}received {2}status 400\n/],
  ],
  [
    'http/head',
    'the response to HEAD',
    { reply: (reply, { method }) => (method === 'HEAD' ? { ...reply, status: 405 } : reply) },
    [/\n {2}sent {6}HEAD \/v1\/pets\n/],
  ],
  [
    '4.1/pages',
    'the page that should have the missing pet',
    {
      list: (pets, query) =>
        pageOf(query.limit === 7 ? pets.filter(({ id }) => id !== 4n) : pets, query),
      reply: linked,
    },
    [/received \[ 4 \]/, /\n {2}sent {6}GET \/v1\/pets\?limit=7\n/],
  ],
];

for (const [id, what, rules, texts] of EVIDENCE) {
  test(`The evidence of ${id} is ${what}`, async () => {
    const { report } = await failureOf(id, rules);
    for (const text of texts) assert.match(report, text);
    assert.doesNotMatch(report, /"categoryId":1914638257/);
  });
}

test('A request that gets 429 is sent again after its Retry-After', async () => {
  let requests = 0;
  const reply: Rules['reply'] = (right) => {
    requests += 1;
    return requests > 1 ? right : { ...plainRules.error(429, 'Too often'), retryAfter: '1' };
  };
  const checks = checksOf('interface', ['4.2/created']);
  const results = await resultsOf({ reply }, checks);
  assert.deepEqual([results.get('4.2/created')?.kind, requests], ['holds', 2]);
});

test('A check is gone if the service no longer responds, not if one request gets no response', async (t) => {
  const [check] = checksOf('interface', ['2/status-optional']);
  const run = (baseUrl: string): Promise<CheckResult> => runCheck(check!, { baseUrl, key: KEY });
  // The kernel does not assign port 2 to a program.
  assert.equal((await run('http://127.0.0.1:2/v1')).kind, 'gone');
  const server = createServer((request, response) => {
    if (request.method === 'POST') request.socket.destroy();
    else response.end('[]');
  });
  assert.equal((await run(await start(t, server))).kind, 'fails');
});

test('A body of more than 128 MiB is not read to its end, and counts as no response', async (t) => {
  const [check] = checksOf('interface', ['2/status-optional']);
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.end('[]');
    const chunk = Buffer.alloc(1 << 20, ' ');
    const write = (): void => {
      while (response.write(chunk));
    };
    response.on('drain', write);
    write();
  });
  const target = { baseUrl: await start(t, server), key: KEY, timeoutMs: 60_000 };
  const result = await runCheck(check!, target);
  assert.ok(result.kind === 'fails', result.kind);
  assert.match(result.causes[0] ?? '', /there was none: a body of more than 128 MiB$/);
});

const OBSTACLES: readonly [
  what: string,
  server: Server,
  key: string,
  obstacle: RegExp | undefined,
][] = [
  [
    'does not accept the key',
    createPlainServer(KEY),
    'another',
    /accept the key: GET \/pets returned 401$/,
  ],
  [
    'is not a pet store service',
    createServer((_request, response) => void response.writeHead(404).end('No page')),
    KEY,
    / is not a pet store service: GET \/pets returned 404$/,
  ],
  [
    'returns 404 for an empty list only',
    createPlainServer(KEY, { listed: () => plainRules.error(404, 'There are none') }),
    KEY,
    undefined,
  ],
];

for (const [what, server, key, obstacle] of OBSTACLES) {
  test(`A service that ${what} ${obstacle === undefined ? 'is' : 'is not'} checked`, async (t) => {
    const message = await obstacleTo({ baseUrl: await start(t, server), key }, 60_000);
    if (obstacle === undefined) assert.equal(message, undefined);
    else assert.match(message ?? '', obstacle);
  });
}

test('The kit waits for a service that is starting, as long as it may', async (t) => {
  let status = 502;
  const reply: Rules['reply'] = (right) => {
    if (status > 504) return right;
    return plainRules.error(status++, 'Starting');
  };
  const baseUrl = await start(t, createPlainServer(KEY, { reply }));
  const message = await obstacleTo({ baseUrl, key: KEY });
  assert.match(message ?? '', / is not ready: GET \/pets returned 502$/);
  assert.equal(await obstacleTo({ baseUrl, key: KEY }, 60_000), undefined);
  assert.equal(status, 505);
});
