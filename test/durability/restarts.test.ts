/**
 * A service that is stopped and started again under load: no connection is reset, so that each
 * client knows whether its pet was stored. On a socket that a supervisor keeps, no connection is
 * refused either.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { connectWire, type Wire } from '../support/http/wire.ts';
import {
  assertRefused,
  end,
  KEY,
  portOf,
  startProcess,
  type Process,
} from '../support/process/process.ts';
import { openSupervisor, type Supervisor } from '../support/process/supervisor.ts';

const RESTARTS = rounds(3, 15);
/** How many requests there are before each restart. */
const REQUESTS = rounds(150, 250);
/** How many clients of a kind read; twice as many create. */
const CLIENTS = 4;
const UNANSWERED = 'no response';
const NOT_CONNECTED = 'not connected';
const POSIX = { skip: process.platform === 'win32' && 'Windows hands over no sockets' };

test(`${RESTARTS} stops and starts reset no connection`, async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  const start = (port: number): Process => {
    const args = ['--port', String(port), '--data-file', dataFile];
    const service = startProcess(args, { PETSTORE_API_KEYS: KEY });
    t.after(() => end(service, 'SIGKILL'));
    return service;
  };
  const first = start(0);
  const port = await portOf(first);
  const counts = await restartUnderLoad(first, port, () => start(port), [true]);
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
  // Between a stop and the next start a client cannot connect, and knows that it sent nothing.
  assertKnown(counts, [UNANSWERED, NOT_CONNECTED]);
  // On a busy machine a request may take longer than the service waits: at most one in a hundred.
  const stored = counts.get('POST 201') ?? 0;
  const unanswered = counts.get(UNANSWERED) ?? 0;
  assert.ok(unanswered <= stored / 100, `${unanswered} without a response`);
  const pets = countPets(dataFile);
  assert.ok(pets >= stored && pets <= stored + unanswered, `${pets} pets`);
});

test(
  `${RESTARTS} restarts on an inherited socket refuse and reset no request`,
  POSIX,
  async (t) => {
    const { start, port, dataFile } = openSocket(t);
    const counts = await restartUnderLoad(start(), port, start, [true, false]);
    t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
    assertKnown(counts, []);
    assert.equal(countPets(dataFile), counts.get('POST 201'));
  },
);

test('A request that comes between two processes waits for the next one', POSIX, async (t) => {
  const { start, port } = openSocket(t);
  const first = start();
  await first.ready();
  assert.equal(await end(first, 'SIGTERM'), 0);
  const connection = await connectWire(port);
  const answer = connection.send('GET', '/v1/pets');
  const second = start();
  // Not 503, as from a service that is starting.
  assert.equal((await answer).status, 200);
  connection.close();
  assert.equal(await end(second, 'SIGTERM'), 0);
});

test('Two inherited sockets are refused in one line', POSIX, async (t) => {
  const { supervisor, args } = openSocket(t);
  const line = /^petstore: LISTEN_FDS must be 1, since one socket is served, not "2"\n$/;
  await assertRefused(supervisor.start(args, { LISTEN_FDS: '2' }), line);
});

/** A socket that a supervisor keeps, and what starts a service on it. */
function openSocket(t: TestContext): {
  readonly supervisor: Supervisor;
  readonly port: number;
  readonly dataFile: string;
  readonly args: readonly string[];
  start(): Process;
} {
  const supervisor = openSupervisor();
  t.after(() => supervisor.close());
  const dataFile = join(tempDir(t), 'pets.json');
  const args = ['--data-file', dataFile];
  const start = (): Process => {
    const service = supervisor.start(args, { PETSTORE_API_KEYS: KEY });
    t.after(() => end(service, 'SIGKILL'));
    return service;
  };
  return { supervisor, port: supervisor.port, dataFile, args, start };
}

/** Restarts the service under load of such clients, stops it, and counts the outcomes. */
async function restartUnderLoad(
  first: Process,
  port: number,
  start: () => Process,
  kinds: readonly boolean[],
): Promise<ReadonlyMap<string, number>> {
  let service = first;
  await service.ready();
  const load = startClients(port, kinds);
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    await load.answered(REQUESTS);
    assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
    service = start();
    await service.ready();
  }
  load.stop();
  const counts = await load.ended;
  assert.equal(await end(service, 'SIGTERM'), 0);
  return counts;
}

interface Clients {
  /** Resolves with the count of each outcome, such as `POST 201`. */
  readonly ended: Promise<ReadonlyMap<string, number>>;
  /** Resolves when so many more requests have got a response. */
  answered(requests: number): Promise<void>;
  stop(): void;
}

/** Starts clients that keep their connections (true), and clients that open one per request. */
function startClients(port: number, kinds: readonly boolean[]): Clients {
  const counts = new Map<string, number>();
  const count = (outcome: string): unknown => counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  let isStopped = false;
  let answered = 0;
  let told = (): void => undefined;
  /** Resolves with true if the service closes the connection. */
  const send = async (connection: Wire, method: 'GET' | 'POST'): Promise<boolean> => {
    const body = method === 'POST' ? '{"name":"Rex","categoryId":1}' : undefined;
    const outcome = await connection.send(method, '/v1/pets', body);
    if (outcome.status === 'cut') {
      count(outcome.received === '' ? UNANSWERED : `a part: ${outcome.received}`);
      return true;
    }
    count(`${method} ${outcome.status}`);
    answered += 1;
    told();
    // Some connections are idle when a stop comes, and some are about to send.
    await sleep(3 * Math.random());
    return outcome.headers.get('connection') === 'close';
  };
  const run = async (method: 'GET' | 'POST', isKept: boolean): Promise<void> => {
    while (!isStopped) {
      const connection = await connectWire(port).catch(() => undefined);
      if (connection === undefined) {
        count(NOT_CONNECTED);
        await sleep(10);
        continue;
      }
      for (let isLast = false; !isLast;) {
        isLast = (await send(connection, method)) || !isKept || isStopped;
      }
      connection.close();
    }
  };
  const methods = Array.from({ length: CLIENTS }, () => ['GET', 'POST', 'POST'] as const).flat();
  const runs = kinds.flatMap((isKept) => methods.map((method) => run(method, isKept)));
  return {
    ended: Promise.all(runs).then(() => counts),
    answered(requests) {
      const goal = answered + requests;
      return new Promise((resolve) => {
        told = () => void (answered >= goal && resolve());
      });
    },
    stop: () => void (isStopped = true),
  };
}

/** Fails if an outcome is neither 200, 201 or 503, nor one of these. */
function assertKnown(counts: ReadonlyMap<string, number>, others: readonly string[]): void {
  const known = ['GET 200', 'GET 503', 'POST 201', 'POST 503', ...others];
  const unknown = [...counts.keys()].filter((outcome) => !known.includes(outcome));
  assert.deepEqual(unknown, []);
}

function countPets(dataFile: string): number {
  return (JSON.parse(readFileSync(dataFile, 'utf8')) as unknown[]).length;
}
