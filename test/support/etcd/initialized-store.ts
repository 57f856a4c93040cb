/** An etcd store whose log is made first, as by the command `init-etcd`. */

import {
  openEtcdStore,
  type EtcdStore,
  type EtcdStoreOptions,
} from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';

/** Opens the store. An existing log is not changed. */
export async function openInitialized(options: EtcdStoreOptions): Promise<EtcdStore> {
  await initEtcd(options);
  return openEtcdStore(options);
}
