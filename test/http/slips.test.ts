/** Each slip in src/core/http is noticed by the case that is named beside it (slips.ts). */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plant, triedOf } from '../support/slips.ts';
import { openBench } from './gate-bench.ts';
import { GATE_CASES } from './gate-cases.ts';
import { LISTENER_CASES, runListenerCase } from './listener-cases.ts';
import { importHttp } from './modules.ts';
import { SERVER_CASES } from './server-cases.ts';
import { GATE_SLIPS, LISTENER_SLIPS, SERVER_SLIPS } from './slips.ts';

for (const slip of triedOf(GATE_SLIPS)) {
  test(`A queue that slips is noticed: ${slip[0]}`, async (t) => {
    const { createPlainServer } = await importHttp(plant(t, slip));
    await assert.rejects(async () => GATE_CASES[slip[4]](await openBench(t, createPlainServer)));
  });
}

for (const slip of triedOf(SERVER_SLIPS)) {
  test(`A server that slips is noticed: it ${slip[0]}`, async (t) => {
    const http = await importHttp(plant(t, slip));
    await assert.rejects(SERVER_CASES[slip[4]](t, http));
  });
}

for (const slip of triedOf(LISTENER_SLIPS)) {
  test(`A listener that slips is noticed: it ${slip[0]}`, async (t) => {
    const http = await importHttp(plant(t, slip));
    await assert.rejects(runListenerCase(t, http, LISTENER_CASES[slip[4]]));
  });
}
