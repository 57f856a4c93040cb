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
  /** How many cases ran, and how many breaks were caught. */
  cases = 0;
  breaks = 0;

  /** Runs cases for a test that passes if there was no complaint. */
  async pass(name: string, run: () => Promise<Result>): Promise<void> {
    await this.#add(name, run, (t, { cases, complaints }) => {
      this.cases += cases;
      t.diagnostic(`${cases} cases`);
      const first = complaints.slice(0, 5).join('\n');
      assert.ok(complaints.length === 0, `${complaints.length} complaints\n${first}`);
      assert.notEqual(cases, 0);
    });
  }

  /** Searches with a broken store for a test that passes if there was a complaint. */
  async catch(what: string, search: () => Promise<readonly string[]>): Promise<void> {
    await this.#add(`The simulation catches a store that ${what}`, search, (t, [complaint]) => {
      assert.ok(complaint !== undefined);
      this.breaks += 1;
      t.diagnostic(complaint);
    });
  }

  /** Runs `run` to its end; its test throws its error, or judges its value. */
  async #add<T>(
    name: string,
    run: () => Promise<T>,
    judge: (t: TestContext, value: T) => void,
  ): Promise<void> {
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
      judge(t, settled.value);
    });
  }

  /** Makes the tests, after all cases have run. */
  report(): void {
    for (const [name, run] of this.#tests) test(name, run);
  }
}
