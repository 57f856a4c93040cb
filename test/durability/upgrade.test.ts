/**
 * Upgrades on a socket that a supervisor keeps: no connection is refused, and none is reset, while
 * one process ends and the next one starts.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readInheritedSocket } from '../../src/socket-activation.ts';
import { rounds } from '../support/extent.ts';
import { connectWire, type Wire } from '../support/http/wire.ts';
import { assertRefused, end, KEY, type Process } from '../support/process/process.ts';
import { openSupervisor } from '../support/process/supervisor.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const RESTARTS = rounds(2, 10);
/** Before each of them. */
const REQUESTS = rounds(150, 250);
/** Of each kind. */
const CLIENTS = 4;
const POSIX = { skip: process.platform === 'win32' && 'Windows hands over no sockets' };

test(
  `Through ${RESTARTS} restarts no request is refused or reset, each POST is 201 or 503`,
  POSIX,
  async (t) => {
    const supervisor = openSupervisor();
    t.after(() => supervisor.close());
    const dataFile = join(tempDir(t), 'pets.json');
    const start = (): Process => {
      const service = supervisor.start(['--data-file', dataFile], { PETSTORE_API_KEYS: KEY });
      t.after(() => end(service, 'SIGKILL'));
      return service;
    };
    let service = start();
    assert.equal(await service.ready(), `http://127.0.0.1:${supervisor.port}`);
    const load = startClients(supervisor.port);
    for (let restart = 0; restart < RESTARTS; restart += 1) {
      await load.answered(REQUESTS);
      assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
      service = start();
      await service.ready();
    }
    load.stop();
    const counts = await load.ended;
    assert.equal(await end(service, 'SIGTERM'), 0);
    const pets = JSON.parse(readFileSync(dataFile, 'utf8')) as unknown[];
    assert.equal(pets.length, counts.get('POST 201'));
    const sum = [...counts.values()].reduce((all, count) => all + count, 0);
    t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
    assert.ok(sum > 200 * RESTARTS, `${sum} requests are too few to mean much`);
    const known = ['GET 200', 'GET 503', 'POST 201', 'POST 503'];
    assert.deepEqual(
      [...counts.keys()].filter((outcome) => !known.includes(outcome)),
      [],
    );
  },
);

interface Clients {
  /** How often each outcome was met, such as `POST 201`; rejects where one had no answer. */
  readonly ended: Promise<ReadonlyMap<string, number>>;
  /** Resolves when so many more requests have been answered. */
  answered(requests: number): Promise<void>;
  stop(): void;
}

/** Half of them keep a connection for as long as they may, half have a new one for each request. */
function startClients(port: number): Clients {
  const counts = new Map<string, number>();
  let isStopped = false;
  let answered = 0;
  let told = (): void => undefined;
  const send = async (connection: Wire, method: 'GET' | 'POST'): Promise<boolean> => {
    const body = method === 'POST' ? '{"name":"Rex","categoryId":1}' : undefined;
    const outcome = await connection.send(method, '/v1/pets', body);
    assert.ok(outcome.status !== 'cut', `A ${method} was reset`);
    const name = `${method} ${outcome.status}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    answered += 1;
    told();
    return outcome.headers.get('connection') === 'close';
  };
  const run = async (method: 'GET' | 'POST', isKept: boolean): Promise<void> => {
    while (!isStopped) {
      const connection = await connectWire(port);
      for (let isLast = false; !isLast;)
        isLast = (await send(connection, method)) || !isKept || isStopped;
      connection.close();
    }
  };
  const kinds = [true, false].flatMap((isKept) =>
    (['GET', 'POST', 'POST'] as const).map((method) => () => run(method, isKept)),
  );
  const runs = kinds.flatMap((start) => Array.from({ length: CLIENTS }, start));
  const ended = Promise.all(runs).then(() => counts);
  // Whoever awaits it meets the failure.
  ended.catch(() => undefined);
  return {
    ended,
    async answered(requests) {
      const goal = answered + requests;
      const reached = new Promise<void>((resolve) => {
        told = () => void (answered >= goal && resolve());
      });
      await Promise.race([reached, ended]);
    },
    stop: () => void (isStopped = true),
  };
}

test('A request that comes while nothing runs waits for the next process', POSIX, async (t) => {
  const supervisor = openSupervisor();
  t.after(() => supervisor.close());
  const args = ['--data-file', join(tempDir(t), 'pets.json')];
  const start = (): Process => {
    const service = supervisor.start(args, { PETSTORE_API_KEYS: KEY });
    t.after(() => end(service, 'SIGKILL'));
    return service;
  };
  const first = start();
  await first.ready();
  assert.equal(await end(first, 'SIGTERM'), 0);
  const connection = await connectWire(supervisor.port);
  const answer = connection.send('GET', '/v1/pets');
  const second = start();
  // Not 503, as it would be for one that finds the service starting.
  assert.equal((await answer).status, 200);
  connection.close();
  assert.equal(await end(second, 'SIGTERM'), 0);
});

test('A socket that is meant for another process, or none, is not touched', () => {
  assert.equal(readInheritedSocket({}, 7), undefined);
  assert.equal(readInheritedSocket({ LISTEN_FDS: '1' }, 7), undefined);
  assert.equal(readInheritedSocket({ LISTEN_FDS: '1', LISTEN_PID: '8' }, 7), undefined);
  assert.equal(readInheritedSocket({ LISTEN_FDS: '1', LISTEN_PID: '7' }, 7), 3);
});

test('More sockets than one is told in one line', POSIX, async (t) => {
  const supervisor = openSupervisor();
  t.after(() => supervisor.close());
  const args = ['--data-file', join(tempDir(t), 'pets.json')];
  const line = /^petstore: LISTEN_FDS must be 1, since one socket is served, not "2"\n$/;
  await assertRefused(supervisor.start(args, { LISTEN_FDS: '2' }), line);
});
