/** All cases of the server for the open network: those of every gate, and its own. */

import { createHttpServer } from '../../src/extras/open-network/open-network-server.ts';
import { gateCases } from '../http/gate-cases.ts';
import { STALLED_CASES } from './stalled-cases.ts';
import { TURN_CASES } from './turn-cases.ts';

export const OPEN_NETWORK_CASES = {
  ...gateCases(createHttpServer),
  ...TURN_CASES,
  ...STALLED_CASES,
};
