/** The service that the interface's tests are about: one for each test file, with no pets in it. */

import { after } from 'node:test';
import { KEY, startService, type Service } from '../support/service.ts';
import { createClient, type Client } from './client.ts';

type Options = NonNullable<Parameters<typeof startService>[0]>;

/** A client of the file's own service, which is closed when the file's tests are over. */
export async function openSubject(): Promise<Client> {
  const service = await startService();
  after(() => service.close());
  return clientOf(service);
}

/** A service with an injected clock, store or limit, for one test. */
export async function openOwnService(
  context: { after(fn: () => Promise<void>): void },
  options: Options,
): Promise<{ readonly service: Service; readonly client: Client }> {
  const service = await startService(options);
  context.after(() => service.close());
  return { service, client: clientOf(service) };
}

function clientOf({ origin }: Service): Client {
  return createClient(`${origin}/v1`, KEY);
}
