/** Each slip in src/core/http is noticed by its case (slips.ts). */

import { testSlips } from '../support/slips.ts';
import { openBench } from './gate-bench.ts';
import { GATE_CASES } from './gate-cases.ts';
import { LISTENER_CASES, runListenerCase } from './listener-cases.ts';
import { importHttp } from './modules.ts';
import { SERVER_CASES } from './server-cases.ts';
import { GATE_SLIPS, LISTENER_SLIPS, SERVER_SLIPS } from './slips.ts';

testSlips(GATE_SLIPS, importHttp, async ({ createPlainServer }, name, t) =>
  GATE_CASES[name](await openBench(t, createPlainServer)),
);
testSlips(SERVER_SLIPS, importHttp, (http, name, t) => SERVER_CASES[name](t, http));
testSlips(LISTENER_SLIPS, importHttp, (http, name, t) =>
  runListenerCase(t, http, LISTENER_CASES[name]),
);
