/**
 * Runs many cases before the first test begins, and lets tests report what came of them.
 *
 * As soon as a file has called `test`, node:test follows each promise, which takes a quarter of
 * the time of a simulation.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';

/** Tests without this text in their names do not run: `npm test -- --only TEXT`. */
const ONLY = process.env['TEST_ONLY'] ?? '';

/** How many cases there were, and what they found wrong. */
interface Result {
  readonly cases: number;
  readonly complaints: readonly string[];
}

export class TestsOfCases {
  readonly #tests = new Map<string, (t: TestContext) => void>();

  /** Runs cases to their end, for a test that passes if there was no complaint. */
  async pass(name: string, run: () => Promise<Result>): Promise<void> {
    if (!name.includes(ONLY)) return;
    const startedAt = performance.now();
    const [settled] = await Promise.allSettled([run()]);
    const ms = Math.ceil(performance.now() - startedAt);
    // A sign of life: a file from which nothing comes is ended.
    console.log();
    this.#tests.set(name, (t) => {
      // The report adds it to the time of this test.
      t.diagnostic(`${ms} ms before the first test`);
      if (settled.status === 'rejected') throw settled.reason;
      const { cases, complaints } = settled.value;
      t.diagnostic(`${cases} cases`);
      const first = complaints.slice(0, 5).join('\n');
      assert.ok(complaints.length === 0, `${complaints.length} complaints\n${first}`);
      assert.notEqual(cases, 0);
    });
  }

  /** Makes the tests, after all cases have run. */
  report(): void {
    for (const [name, run] of this.#tests) test(name, run);
  }
}
