/** All cases of the core's HTTP: the server, its gate, and the way of a request. */

import { createPlainServer } from '../../src/core/http/http-server.ts';
import { gateCases } from './gate-cases.ts';
import { LISTENER_CASES } from './listener-cases.ts';
import { SERVER_CASES } from './server-cases.ts';

export const HTTP_CASES = {
  ...SERVER_CASES,
  ...gateCases(createPlainServer),
  ...LISTENER_CASES,
};
