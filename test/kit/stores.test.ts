/**
 * The kit, against this service: on a real etcd cluster with every decision; on a store with more
 * pets of each status than a list shows, what the interface demands. For a new file it is in
 * openapi.test.ts.
 */

import { after, test } from 'node:test';
import { testConformance, type Level } from '../../src/kit/conformance.ts';
import { STATUSES } from '../../src/kit/expect.ts';
import { initEtcd } from '../../src/stores/etcd/open-log.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { startCluster, withoutEtcd } from '../support/etcd/cluster.ts';
import { KEY, openService } from '../support/http/service.ts';

type Options = NonNullable<Parameters<typeof openService>[1]>;

/** All services, before the first test: the hooks of a file run when no test of it is left. */
const services: (readonly [baseUrl: string, level: Level])[] = [];

async function open(options: Options, level: Level = 'http'): Promise<void> {
  const { origin } = await openService({ after }, options);
  services.push([`${origin}/v1`, level]);
}

const store = createMemoryStore();
for (const status of [undefined, ...STATUSES]) {
  const older = { name: 'An older pet', categoryId: 5n };
  const pet = status === undefined ? older : { ...older, status };
  for (let i = 0; i < 101; i += 1) await store.create(pet);
}
await open({ store }, 'interface');

if (withoutEtcd === false) {
  const etcd = { endpoints: (await startCluster({ after })).endpoints, prefix: 'kit/' };
  await initEtcd(etcd);
  await open({ etcd });
} else {
  test('Every check of the kit holds on etcd', { skip: withoutEtcd });
}

for (const [baseUrl, level] of services) {
  testConformance({ baseUrl, key: KEY, level, isStrict: true });
}
