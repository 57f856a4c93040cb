/**
 * The kit as a library: declares its checks as node:test tests in any project.
 *
 *     import { after } from 'node:test';
 *     import { testConformance } from 'petstore/conformance';
 *
 *     const server = await startMyService();
 *     after(() => server.close());
 *     testConformance({ baseUrl: `${server.url}/v1`, key: 'my-key' });
 */

import { describe, test } from 'node:test';
import { testResultOf } from './report.ts';
import { Run, type ConformanceOptions } from './run.ts';

export type { Level } from './check.ts';
export type { ConformanceOptions } from './run.ts';
export type { HeaderFields, Target } from './test-client.ts';

/** Declares the suite. Each check is a test, whose name is its title. */
export function testConformance(options: ConformanceOptions): void {
  const run = new Run(options);
  describe(run.title, () => {
    for (const check of run.checks) {
      test(check.title, async (t) => {
        const { error, skip } = testResultOf(await run.outcomeOf(check));
        if (error !== undefined) throw error;
        if (skip !== undefined) t.skip(skip);
      });
    }
  });
}
