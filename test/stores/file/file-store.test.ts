import { testStoreScript } from '../../support/disk/store-script.ts';
for (const name of ['working', 'repairing', 'ended', 'closed', 'start', 'creates', 'upgrade'])
  testStoreScript(`stores/file/${name}.script`);
