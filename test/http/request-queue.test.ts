/** The gate of the core: the cases of every gate, and how much of what a client sends it holds. */

import { test } from 'node:test';
import { createPlainServer } from '../../src/core/http/http-server.ts';
import { openBench } from './gate-bench.ts';
import { GATE_CASES } from './gate-cases.ts';

for (const [name, run] of Object.entries(GATE_CASES)) {
  test(name, async (t) => run(await openBench(t, createPlainServer)));
}
