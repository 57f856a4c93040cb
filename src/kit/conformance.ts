/**
 * The kit as a library: declares its checks as node:test tests in any project.
 *
 *     import { testConformance } from 'petstore/conformance';
 *
 *     const server = await startMyService();
 *     testConformance({ baseUrl: `${server.url}/v1`, key: 'my-key' });
 *
 * A test fails only if the run must fail, so that every reporter of Node agrees with the exit code.
 * A difference from a decision, an expected failure, and a check that was not observed are skipped
 * tests, each with its reason.
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
  /** Ids of checks, or their parts before the slash. All checks by default. */
  readonly only?: readonly string[] | undefined;
  /** Ids of checks that are known to fail. If one of them holds, the run fails. */
  readonly expectedFailures?: readonly string[] | undefined;
  /** If true, a difference from a decision fails the run, too. */
  readonly isStrict?: boolean | undefined;
  /** Called once if the service stops responding; the remaining checks are then skipped. */
  readonly onGone?: (() => void) | undefined;
}

/** Declares the suite. Each check is a test, whose name is the id and the sentence. */
export function testConformance(options: ConformanceOptions): void {
  const { baseUrl, level = 'interface', only, expectedFailures = [], isStrict = false } = options;
  let isGone = false;
  const run = async (t: TestContext, check: Check): Promise<void> => {
    if (isGone) return t.skip(`${SKIPPED.gone}the service no longer responds`);
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

/** Returns an error without a stack, since a position in the kit does not help. */
function failure(report: string): Error {
  return Object.assign(new Error(report), { stack: report });
}
