/**
 * The kit against wrong services, each with one fault, and against right ones, in which it finds
 * none; and the page's table of the faults is the one that is found here.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { openApp } from '../../src/app.ts';
import { checksOf } from '../../src/kit/checks.ts';
import { runCheck, type CheckResult } from '../../src/kit/run-check.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { ROOT } from '../support/process/carry.ts';
import { listen } from '../support/http/service.ts';
import { faultTable, findings, KEY, resultsOf } from './fault-table.ts';
import { otherDecisions, thirdDecisions } from './other-decisions.ts';
import { createPlainServer, plainRules, type Rules } from './plain-service.ts';

const AFTER_REMOVAL = { now: () => Date.parse('2031-01-01T00:00:00Z') };

/** The checks that do not hold, of all that the interface demands. */
async function othersOf(
  server: Server,
): Promise<readonly (readonly [string, CheckResult['kind']])[]> {
  const results = [...(await resultsOf(server, checksOf('interface')))];
  return results.flatMap(([id, { kind }]) => (kind === 'holds' ? [] : [[id, kind] as const]));
}

async function assertRight(server: Server): Promise<void> {
  const others = await othersOf(server);
  assert.deepEqual(
    others.filter(([, kind]) => kind !== 'not observed'),
    [],
  );
}

test('The plain service does all that is demanded, and shows all but what it has not', async () => {
  assert.deepEqual(await othersOf(createPlainServer(KEY)), [
    ['4.1/pages', 'not observed'],
    ['4.1/pages-filter', 'not observed'],
    ['9/removal', 'not observed'],
  ]);
});

test('Services that decided every gap otherwise do all that is demanded', async () => {
  await assertRight(createPlainServer(KEY, otherDecisions));
  await assertRight(createPlainServer(KEY, thirdDecisions()));
});

test('The plain services still do all that is demanded after the removal of getPet', async () => {
  await assertRight(createPlainServer(KEY, AFTER_REMOVAL));
  await assertRight(createPlainServer(KEY, { ...otherDecisions, ...AFTER_REMOVAL }));
  await assertRight(createPlainServer(KEY, { ...thirdDecisions(), ...AFTER_REMOVAL }));
});

test('This service still does all that is demanded after the removal of getPet', async (t) => {
  const app = await openApp({ store: createMemoryStore(), apiKeys: [KEY], ...AFTER_REMOVAL });
  t.after(() => app.close());
  await assertRight(
    createServer((request, response) => {
      response.setHeader('Date', new Date(AFTER_REMOVAL.now()).toUTCString());
      app.listener(request, response);
    }),
  );
});

test('Each wrong service is found out by the check that should', async (t) => {
  const found = await findings();
  assert.ok(found.length >= 40, `${found.length} faults`);
  for (const { what, foundBy, isFound } of found) {
    await t.test(what, () => assert.ok(isFound, `${foundBy} does not fail`));
  }
  await t.test('and the page has the table of them', () => {
    const page = readFileSync(join(ROOT, 'src', 'kit', 'README.md'), 'utf8');
    assert.ok(page.includes(faultTable(found)), 'node scripts/planted-faults.mjs prints it');
  });
});

test('A difference does not hide the next one: each cause is reported, with its cases', async () => {
  const readLimit: Rules['readLimit'] = (text) =>
    text === '101' ? 20 : plainRules.readLimit(text);
  const error: Rules['error'] = (_status, message) => plainRules.error(422, message);
  const server = createPlainServer(KEY, { readLimit, error });
  const checks = checksOf('decisions', ['decisions/limit']);
  const result = (await resultsOf(server, checks)).get('decisions/limit');
  assert.ok(result?.kind === 'fails');
  const [refused = '', taken = ''] = result.causes;
  assert.match(refused, /^the status: expected 400, received 422 \(limit=, .* and [0-9]+ more\)$/);
  assert.match(taken, /^the status: expected 400, received 200 \(.*\)$/);
  for (const cause of ['received 422\n', 'received 200\n'])
    assert.ok(result.report.includes(cause));
});

test('All cases of a check are run, in their order, whatever the first of them showed', async () => {
  const isName: Rules['isName'] = (value) => typeof value === 'string' || value instanceof Object;
  const server = createPlainServer(KEY, { isName: (value) => value === null || isName(value) });
  const checks = checksOf('interface', ['2/name-type']);
  const result = (await resultsOf(server, checks)).get('2/name-type');
  assert.ok(result?.kind === 'fails');
  const cases = '{"name":null}, {"name":[]}, {"name":["Rex"]}, {"name":{}} and 1 more';
  assert.deepEqual(result.causes, [`the status: expected 400, received 201 (${cases})`]);
});

test('A service that went away is told from one that leaves a request unanswered', async (t) => {
  const [check] = checksOf('interface', ['2/status-optional']);
  const run = (baseUrl: string): Promise<CheckResult> => runCheck(check!, { baseUrl, key: KEY });
  // No program is given this port by chance.
  assert.equal((await run('http://127.0.0.1:2/v1')).kind, 'gone');
  const server = createServer((request, response) => {
    if (request.method === 'POST') request.socket.destroy();
    else response.end('[]');
  });
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const port = await listen(server);
  assert.equal((await run(`http://127.0.0.1:${port}/v1`)).kind, 'fails');
});
