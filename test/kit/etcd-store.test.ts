/** Every check of the kit, against a service on a real etcd cluster of three members. */

import { after, test } from 'node:test';
import { initEtcd } from '../../src/stores/etcd/new-log.ts';
import { startCluster, withoutEtcd } from '../support/etcd/cluster.ts';
import { testOwnService } from './own-service.ts';

if (withoutEtcd === false) {
  const { endpoints } = await startCluster({ after });
  const etcd = { endpoints, prefix: 'kit/' };
  await initEtcd(etcd);
  await testOwnService({ etcd });
} else {
  test('Every check of the kit holds on etcd', { skip: withoutEtcd });
}
