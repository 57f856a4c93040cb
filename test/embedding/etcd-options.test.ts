/** Wrong options for etcd: all that is wrong is in one TypeError. */

import { testWrongOptions, withoutStore } from './wrong-options.ts';

testWrongOptions([
  [
    withoutStore({ etcd: { endpoint: 'http://e:1' } }),
    'etcd.endpoint is not an option; the options are endpoints, …; etcd.endpoints must be 1 to 100 URLs …',
  ],
  [
    withoutStore({ etcd: 'http://u:pw@e' }),
    'etcd must be an object with endpoints, not "http://…@e"',
  ],
  [
    withoutStore({ etcd: { endpoints: [new URL('http://e:1')] } }),
    'etcd.endpoints must be URLs such as http://127.0.0.1:2379, without a path or a password, not an object',
  ],
]);
