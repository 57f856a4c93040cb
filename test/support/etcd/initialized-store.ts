/** An etcd store on a log that is made first, as the command `init-etcd` does. */

import {
  openEtcdStore,
  type EtcdStore,
  type EtcdStoreOptions,
} from '../../../src/stores/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';

/** Opens the store; a log that exists is left as it is. */
export async function openInitialized(options: EtcdStoreOptions): Promise<EtcdStore> {
  await initEtcd(options);
  return openEtcdStore(options);
}
