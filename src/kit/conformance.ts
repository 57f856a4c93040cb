/**
 * The kit as a library: declares its checks as tests in a node:test run of any project.
 *
 *     import { testConformance } from 'petstore/conformance';
 *
 *     const server = await startMyService();
 *     testConformance({ baseUrl: `${server.url}/v1`, key: 'my-key' });
 *
 * A check of the interface is a test. A decision of this project is a test marked `todo`, so that
 * a difference is reported and fails nothing, unless `isStrict`. What could not be observed is
 * skipped, with the reason. The package exports this file as `petstore/conformance`.
 */

import { describe, test, type TestContext } from 'node:test';
import { VERSION } from '../base/version.ts';
import type { Check, Level } from './check.ts';
import { checksOf, INTERFACE_VERSION } from './checks.ts';
import type { Target } from './client.ts';
import { runCheck } from './run-check.ts';

export type { Level } from './check.ts';
export type { HeaderFields, Target } from './client.ts';

export interface ConformanceOptions extends Target {
  /** `interface` by default; each level includes those before it. */
  readonly level?: Level | undefined;
  /** Ids of checks, or what they begin with up to a slash: all by default. */
  readonly only?: readonly string[] | undefined;
  /** Ids of checks that are known to fail. One of them that holds fails the run: it can go. */
  readonly expectedFailures?: readonly string[] | undefined;
  /** True when the decisions are demanded, too. */
  readonly isStrict?: boolean | undefined;
  /** Called once when the service does not answer any more; the checks left are then skipped. */
  readonly onGone?: (() => void) | undefined;
}

const DECISION = 'a decision of the petstore project, not of the interface';
const GONE = 'the service does not answer any more';

/** Declares the suite, one test for each check, named by id and sentence. */
export function testConformance(options: ConformanceOptions): void {
  const { baseUrl, level = 'interface', only, expectedFailures = [], isStrict = false } = options;
  let isGone = false;
  const run = async (t: TestContext, check: Check): Promise<void> => {
    if (isGone) return t.skip(GONE);
    const outcome = await runCheck(check, options);
    if (outcome.kind === 'gone') {
      isGone = true;
      options.onGone?.();
    }
    if (outcome.kind === 'not observed') return t.skip(`not observed: ${outcome.reason}`);
    const isExpected = expectedFailures.includes(check.id);
    if (outcome.kind === 'holds') {
      if (isExpected) throw failure(`${check.id} holds: take it off the list of expected failures`);
      return;
    }
    if (isExpected) t.todo('an expected failure');
    throw failure(outcome.report);
  };
  describe(`petstore conformance ${VERSION}, interface ${INTERFACE_VERSION}, ${baseUrl}`, () => {
    for (const check of checksOf(level, only)) {
      const isDemanded = check.level === 'interface' || isStrict;
      test(`${check.id} ${check.sentence}`, isDemanded ? {} : { todo: DECISION }, (t) =>
        run(t, check),
      );
    }
  });
}

/** Without a stack: where in the kit it was found helps nobody. */
function failure(report: string): Error {
  const error = new Error(report);
  error.stack = report;
  return error;
}
