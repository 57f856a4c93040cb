/** Starts of the etcd store under difficulties, and the command init-etcd. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringifyPet } from '../../../src/core/pets/pet.ts';
import type { CallResult } from '../../../src/extras/etcd/calls.ts';
import { joiningOf } from '../../../src/extras/etcd/join-cluster.ts';
import { initEtcd } from '../../../src/extras/etcd/open-log.ts';
import { base64, clusterOfFile, needsEtcd, rangeOf } from '../../support/etcd/cluster.ts';
import {
  commitsOfOne,
  init,
  jumpingClock,
  openSimulated,
  openStore,
  rex,
  runStanding,
  simulated,
} from '../../support/etcd/opened-store.ts';
import { SimulatedEtcd } from '../../support/etcd/simulated-etcd.ts';

const cluster = await clusterOfFile(1);
const { endpoints } = cluster;

/**
 * What the endpoints a, b, c answered: a cluster, `a` that they are the same member of the cluster
 * 1, nothing (-), or a refusal (!). Two must.
 */
const JOININGS: readonly [answers: string, expected: string | RegExp][] = [
  ['11-', 'joined 1'],
  ['12-', /to different clusters, a to one and b to another: name the members of one/],
  ['---', /0 of 3 endpoints have answered, 2 must; a: silent; b: silent; c: silent/],
  ['1--', /1 of 3 endpoints have answered, 2 must; b: silent; c: silent/],
  ['211', /a to one and b, c to another/],
  ['11!', /refused: c: no rights/],
  ['aa-', /1 of 3 endpoints have answered, 2 must; b is the same member as a; c: silent/],
  ['aa1', 'joined 1'],
];

for (const [answers, expected] of JOININGS) {
  test(`A start is ${expected} if the endpoints answer ${answers}`, () => {
    const responses = [...answers].map((answer, index): CallResult => {
      const endpoint = 'abc'[index]!;
      const rest = { kind: 'answered', token: undefined, succeeded: true, ranges: [] } as const;
      if (answer === '-') return { kind: 'unsent', cause: `${endpoint}: silent` };
      if (answer === '!') return { kind: 'refused', cause: `${endpoint}: no rights` };
      if (answer === 'a') return { ...rest, clusterId: '1', memberId: 'm' };
      return { ...rest, clusterId: answer, memberId: endpoint };
    });
    const join = (): string => {
      const joining = joiningOf([...'abc'], responses, 2);
      if ('cause' in joining) throw new Error(`${joining.kind}: ${joining.cause}`);
      return `joined ${joining.clusterId}`;
    };
    if (typeof expected === 'string') assert.equal(join(), expected);
    else assert.throws(join, expected);
  });
}

test('A start at 50 ms succeeds while eight clients create pets', async (t) => {
  const life = await openSimulated(t);
  const { etcd, clock, store } = life;
  life.fateOf = () => clock.sleep(2).then(() => 'answered');
  let isOver = false;
  let stored = 0n;
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) stored = (await store.create(rex)).id;
  });
  const calls = etcd.calls(() => clock.sleep(50).then(() => 'answered'));
  const far = await openStore(t, simulated(etcd, { calls, clock }));
  assert.ok(stored > 8n, `${stored} pets stored`);
  isOver = true;
  await Promise.all(clients);
  assert.equal((await far.get(stored))?.text, stringifyPet({ id: stored, ...rex }));
});

test('A start visits each commit a few times, and reads no more at once than a response holds', async (t) => {
  const etcd = new SimulatedEtcd();
  const commits = 6_000;
  await initEtcd(simulated(etcd));
  for (const [slot, value] of commitsOfOne('petstore/', etcd.entries.get('petstore/meta')!)) {
    if (etcd.entries.size > commits) break;
    etcd.entries.set(slot, value);
  }
  let visited = 0;
  const { visit } = etcd;
  etcd.visit = (range) => {
    const found = visit.call(etcd, range);
    visited += found.length;
    return found;
  };
  let most = 0;
  const calls = etcd.calls((_kind, limit) => {
    most = Math.max(most, limit || 0);
    return 'answered';
  });
  assert.equal((await openStore(t, simulated(etcd, { calls }))).count().total, commits);
  assert.ok(visited < 4 * commits, `${visited} visits`);
  // A commit may have a MiB, which base64 makes a third longer, and a response 64 MiB.
  assert.ok(most * (4 / 3) <= 64, `${most} commits`);
});

test('A start is aborted while it reads', async (t) => {
  const { etcd, store } = await openSimulated(t);
  for (let count = 0; count < 100; count += 1) await store.create(rex);
  const stop = new AbortController();
  let reads = 0;
  const calls = etcd.calls((_kind, limit) => {
    if (limit > 2 && (reads += 1) === 2) stop.abort();
    return 'answered';
  });
  const options = simulated(etcd, { calls, signal: stop.signal });
  await assert.rejects(openStore(t, options), { name: 'AbortError' });
  assert.equal(reads, 2);
});

/** Runs a command of the service with this prefix; returns its exit code and what it wrote. */
function command(prefix: string, ...args: readonly string[]): string {
  const env = { PETSTORE_ETCD: endpoints.join(','), PETSTORE_ETCD_PREFIX: prefix };
  return runStanding(args, env);
}

test('init-etcd makes a log once, and a service never makes one', needsEtcd, async (t) => {
  const options = { endpoints, prefix: 'init/' };
  await assert.rejects(openStore(t, options), /There is no log under init\/ in etcd/);
  assert.equal(command('init/', 'init-etcd'), '0 A new log was made in etcd, under init/\n');
  const store = await openStore(t, options);
  assert.equal((await store.create(rex)).id, 1n);
  await store.close();
  const found = '0 A ready log was found in etcd, under init/, and left as it is\n';
  assert.equal(command('init/', 'init-etcd'), found);
  assert.equal((await openStore(t, options)).count().total, 1);
  // A service needs half of the members, and a new log needs all.
  const others = ['http://127.0.0.1:9', 'http://127.0.0.1:10'];
  const few = { endpoints: [...endpoints, ...others], prefix: 'init/', clock: jumpingClock() };
  await assert.rejects(openStore(t, few), /1 of 3 endpoints have answered, 2 must; /);
  await assert.rejects(init(few), /1 of 3 endpoints have answered, 3 must; /);
  // After the log is deleted a service gives no id again.
  await cluster.call('/v3/kv/deleterange', rangeOf('init/'));
  const refused = /^1 petstore: There is no log under init\/ in etcd\. .* petstore init-etcd.*\n$/;
  assert.match(command('init/', '--port', '0'), refused);
  // No log is made beside another key.
  await cluster.call('/v3/kv/put', { key: base64('init/x'), value: base64('x') });
  const expected = /^1 petstore: init\/x exists, but init\/meta is missing/;
  assert.match(command('init/', 'init-etcd'), expected);
});
