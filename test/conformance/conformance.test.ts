/**
 * Every check of the kit, against this project's own service: each holds.
 *
 * The service has pets of somebody else's already. Each part has a service of its own, so that the
 * parts can run side by side: some of their checks wait a second for the service.
 */

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, startService, type Service } from '../support/service.ts';
import { checksOf } from './all-checks.ts';
import { PARTS } from './check.ts';
import { STATUSES } from './expectations.ts';
import { failureLines } from './report.ts';
import { runCheck } from './run-checks.ts';

/** More of each status than a list shows. */
const PETS_OF_EACH = 101;

async function startFullService(): Promise<Service> {
  const store = createMemoryStore();
  for (const status of [undefined, ...STATUSES]) {
    const older = { name: 'An older pet', categoryId: 5n };
    const pet = status === undefined ? older : { ...older, status };
    for (let i = 0; i < PETS_OF_EACH; i += 1) await store.create(pet);
  }
  return startService({ store });
}

describe('Conformance', { concurrency: true }, () => {
  for (const [part, title] of PARTS) {
    describe(`${part}: ${title}`, { concurrency: 1 }, async () => {
      const service = await startFullService();
      after(() => service.close());
      const target = { baseUrl: `${service.origin}/v1`, key: KEY };
      for (const check of checksOf().filter((one) => one.part === part)) {
        test(check.sentence, async () => {
          const result = await runCheck(check, target);
          if (result.failures.length > 0) assert.fail(failureLines(result, KEY).join('\n'));
        });
      }
    });
  }
});
