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
import { runCheck, type Outcome } from '../../src/kit/run-check.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { ROOT } from '../support/carry.ts';
import { faultTable, findings, KEY, outcomesOf } from './fault-table.ts';
import { otherDecisions } from './other-decisions.ts';
import { createPlainServer } from './plain-service.ts';

const AFTER_REMOVAL = { now: () => Date.parse('2031-01-01T00:00:00Z') };

/** The checks that do not hold, of all that the interface demands. */
async function othersOf(server: Server): Promise<readonly (readonly [string, Outcome['kind']])[]> {
  const outcomes = [...(await outcomesOf(server, checksOf('interface')))];
  return outcomes.flatMap(([id, { kind }]) => (kind === 'holds' ? [] : [[id, kind] as const]));
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
    ['9/removal', 'not observed'],
  ]);
});

test('A service that decided every gap otherwise does all that is demanded', () =>
  assertRight(createPlainServer(KEY, otherDecisions)));

test('So does each of them when getPet is removed', async () => {
  await assertRight(createPlainServer(KEY, AFTER_REMOVAL));
  await assertRight(createPlainServer(KEY, { ...otherDecisions, ...AFTER_REMOVAL }));
});

test('So does this service when getPet is removed', async (t) => {
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

test('A service that went away is told from one that leaves a request unanswered', async () => {
  const check = checksOf('interface')[0]!;
  const run = (baseUrl: string): Promise<Outcome> => runCheck(check, { baseUrl, key: KEY });
  // A port that nobody is given by chance.
  assert.equal((await run('http://127.0.0.1:2/v1')).kind, 'gone');
  const server = createServer((request, response) => {
    if (request.method === 'POST') request.socket.destroy();
    else response.end('[]');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  assert.equal((await run(`http://127.0.0.1:${port}/v1`)).kind, 'fails');
  server.close();
  server.closeAllConnections();
});
