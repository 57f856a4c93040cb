/** Wrong options for operators: all that is wrong is in one TypeError. */

import { testWrongOptions } from './wrong-options.ts';

const RUNTIME = 'runtime must be an object with nodeVersion and openConnections';
const ORIGIN = 'must be an origin such as https://shop.example, or *';

testWrongOptions([
  [{ apiKeys: [{ key: 'k', only: 'pets' }] }, "apiKeys[0] has another only than 'metrics'"],
  [{ corsOrigins: '*' }, 'corsOrigins must be an array of origins, not "*"'],
  ...[Object.create(null) as object, 'https://*.example', ['https://a.example'], undefined].map(
    (origin) =>
      [
        { corsOrigins: [, '*', origin] },
        `corsOrigins[0] ${ORIGIN}; corsOrigins[2] ${ORIGIN}…`,
      ] as const,
  ),
  [{ accessLog: 'on' }, 'accessLog must be true or false, not "on"'],
  [{ runtime: 1 }, `${RUNTIME}, not 1`],
  [{ runtime: {} }, `${RUNTIME}, not an object`],
]);
