/** A service of its own for a test of the interface, and a client of it. */

import { Client } from '../../src/kit/client.ts';
import { KEY, startService, type Service } from '../support/service.ts';

type Options = NonNullable<Parameters<typeof startService>[0]>;

/** A service with an injected clock, store or limit, for one test. */
export async function openOwnService(
  context: { after(fn: () => Promise<void>): void },
  options: Options,
): Promise<{ readonly service: Service; readonly client: Client }> {
  const service = await startService(options);
  context.after(() => service.close());
  return { service, client: new Client({ baseUrl: `${service.origin}/v1`, key: KEY }) };
}
