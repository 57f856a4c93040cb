/** Starts of the etcd store under difficulties, and the command init-etcd. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallResult } from '../../../src/extras/etcd/calls.ts';
import { joiningOf } from '../../../src/extras/etcd/join-cluster.ts';
import { clusterOfFile, needsEtcd } from '../../support/etcd/cluster.ts';
import {
  commitsOfOne,
  init,
  jumpingClock,
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

test('A start visits each commit a few times, and reads no more at once than a response holds', async (t) => {
  const etcd = new SimulatedEtcd();
  const commits = 6_000;
  await init(simulated(etcd));
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
  let [most, sent] = [0, 0];
  const calls = etcd.calls((_kind, limit) => {
    most = Math.max(most, limit || 0);
    sent += 1;
    return 'answered';
  });
  assert.equal((await openStore(t, simulated(etcd, { calls }))).count().total, commits);
  assert.ok(visited < 4 * commits, `${visited} visits`);
  // A commit may have a MiB, which base64 makes a third longer, and a response 64 MiB.
  assert.ok(most * (4 / 3) <= 64, `${most} commits`);
  // With more calls, a far process would never catch up with others that write.
  assert.ok(sent < 200, `${sent} calls`);
});

test('init-etcd makes a log once, and needs all endpoints', needsEtcd, async (t) => {
  const options = { endpoints, prefix: 'init/' };
  const env = { PETSTORE_ETCD: endpoints.join(','), PETSTORE_ETCD_PREFIX: 'init/' };
  const command = (): string => runStanding(['init-etcd'], env);
  assert.equal(command(), '0 A new log was made in etcd, under init/\n');
  const store = await openStore(t, options);
  assert.equal((await store.create(rex)).id, 1n);
  assert.match(command(), /^0 A ready log was found in etcd, under init\/, and left as it is\n$/);
  assert.equal((await openStore(t, options)).count().total, 1);
  const others = ['http://127.0.0.1:9', 'http://127.0.0.1:10'];
  const few = { endpoints: [...endpoints, ...others], prefix: 'init/', clock: jumpingClock() };
  await assert.rejects(openStore(t, few), /1 of 3 endpoints have answered, 2 must; /);
  await assert.rejects(init(few), /1 of 3 endpoints have answered, 3 must; /);
});
