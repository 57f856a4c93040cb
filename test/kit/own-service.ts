/** The kit against this project's own service: the interface, and every decision, is demanded. */

import { after } from 'node:test';
import { testConformance } from '../../src/kit/conformance.ts';
import { KEY, startService } from '../support/http/service.ts';

type Options = NonNullable<Parameters<typeof startService>[0]>;

/** Declares all checks as tests of a service with this store. */
export async function testOwnService(options: Options): Promise<void> {
  const service = await startService(options);
  after(() => service.close());
  const baseUrl = `${service.origin}/v1`;
  testConformance({ baseUrl, key: KEY, level: 'http', isStrict: true });
}
