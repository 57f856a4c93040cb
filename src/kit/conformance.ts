/**
 * The kit as a library: declares its checks as tests in a node:test run of any project.
 *
 *     import { testConformance } from 'petstore/conformance';
 *
 *     const server = await startMyService();
 *     testConformance({ baseUrl: `${server.url}/v1`, key: 'my-key' });
 *
 * A test fails only if the run must fail, so that every reporter of Node agrees with the exit code.
 * A difference from a decision, an expected failure and a sentence that was not observed are
 * skipped tests, each with its reason.
 */

import { describe, test, type TestContext } from 'node:test';
import { VERSION } from '../base/version.ts';
import type { Check, Level } from './check.ts';
import { checksOf, INTERFACE_VERSION } from './checks.ts';
import { CAUSE_SEPARATOR, SKIPPED } from './report.ts';
import { runCheck } from './run-check.ts';
import type { Target } from './test-client.ts';

export type { Level } from './check.ts';
export type { HeaderFields, Target } from './test-client.ts';

export interface ConformanceOptions extends Target {
  /** `interface` by default; each level includes those before it. */
  readonly level?: Level | undefined;
  /** Ids of checks, or what they begin with up to a slash: all by default. */
  readonly only?: readonly string[] | undefined;
  /** Ids of checks that are known to fail. If one of them holds, the run fails: remove it. */
  readonly expectedFailures?: readonly string[] | undefined;
  /** True if the decisions are demanded, too. */
  readonly isStrict?: boolean | undefined;
  /** Called once if the service stops responding; the remaining checks are then skipped. */
  readonly onGone?: (() => void) | undefined;
}

/** Declares the suite, one test for each check, named by id and sentence. */
export function testConformance(options: ConformanceOptions): void {
  const { baseUrl, level = 'interface', only, expectedFailures = [], isStrict = false } = options;
  let isGone = false;
  const run = async (t: TestContext, check: Check): Promise<void> => {
    if (isGone) return t.skip(`${SKIPPED.gone}the service does not respond any more`);
    const result = await runCheck(check, options);
    const isExpected = expectedFailures.includes(check.id);
    const isDemanded = check.level === 'interface' || isStrict;
    switch (result.kind) {
      case 'holds':
        if (isExpected) throw failure(`${check.id} holds: remove it from the expected failures`);
        return;
      case 'not observed':
        return t.skip(SKIPPED.notObserved + result.reason);
      case 'fails': {
        const causes = result.causes.join(CAUSE_SEPARATOR);
        if (isExpected) return t.skip(SKIPPED.expected + causes);
        if (!isDemanded) return t.skip(SKIPPED.differs + causes);
        throw failure(result.report);
      }
      case 'gone':
        isGone = true;
        options.onGone?.();
        throw failure(result.report);
    }
  };
  describe(`petstore conformance ${VERSION}, interface ${INTERFACE_VERSION}, ${baseUrl}`, () => {
    for (const check of checksOf(level, only)) {
      test(`${check.id} ${check.sentence}`, (t) => run(t, check));
    }
  });
}

/** Without a stack: the position in the kit helps nobody. */
function failure(report: string): Error {
  const error = new Error(report);
  error.stack = report;
  return error;
}
