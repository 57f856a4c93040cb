/** The kit against this project's own service. Every decision is required. */

import { after } from 'node:test';
import { testConformance } from '../../src/kit/conformance.ts';
import { KEY, startService } from '../support/http/service.ts';

type Options = NonNullable<Parameters<typeof startService>[0]>;

/** Starts a service with this store, and declares all checks as its tests. */
export async function testOwnService(options: Options): Promise<void> {
  const service = await startService(options);
  after(() => service.close());
  const baseUrl = `${service.origin}/v1`;
  testConformance({ baseUrl, key: KEY, level: 'http', isStrict: true });
}
