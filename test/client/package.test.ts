/**
 * The client in other programs: with its types, without Node, and as README.md shows it; and with
 * the real fetch, failures of the network and wrong base URLs.
 */

import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { createClient } from '../../src/extras/client/client.ts';
import { KEY, openService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { assertCompiles, linkPackage, ROOT } from '../support/process/carry.ts';
import { outputOf } from '../support/process/process.ts';
import { readText } from '../support/project.ts';

const CONSUMER = `
import { createClient, PetStoreError } from 'petstore/client';
import type { ClientOptions, Pet, PetPage, PetStatus, PetStoreClient } from 'petstore/client';
import type { PetStoreErrorCode } from 'petstore/client';

const baseUrl = new URL('https://pets.example/v1');
const options: ClientOptions = { baseUrl, apiKey: 'key', fetch, timeoutMs: undefined };
export const client: PetStoreClient = createClient({ ...options, retries: 0 });

export async function use(status: PetStatus, signal: AbortSignal): Promise<bigint> {
  const pet: Pet = await client.createPet({ name: 'Rex', categoryId: 7, status }, { signal });
  const page: PetPage = await client.listPets({ status, limit: 5, after: pet.id });
  if (page.next !== undefined) await client.listPets(page.next);
  for await (const { id, categoryId } of client.allPets({ status })) return id + categoryId;
  try {
    await client.createPet(pet);
  } catch (error) {
    if (error instanceof PetStoreError && error.status === 503) return BigInt(error.code.length);
    const known: PetStoreErrorCode[] = ['not_found', 'network_failure', 'of_a_later_version'];
    if (error instanceof PetStoreError) return BigInt(known.indexOf(error.code));
  }
  // @ts-expect-error: an id is no string
  await client.getPet('1');
  // @ts-expect-error: there is no such status
  await client.listPets({ status: 'lost' });
  // @ts-expect-error: a categoryId is required
  await client.createPet({ name: 'Rex' });
  return 0n;
}
`;

const SOURCE = join(ROOT, 'src', 'extras', 'client', 'client.ts').replaceAll('\\', '/');

/** With these options, a module, a type or a global of Node does not compile. */
const BROWSER = {
  ...{ lib: ['es2022', 'dom'], types: [], allowImportingTsExtensions: true },
  ...{ module: 'esnext', moduleResolution: 'bundler' },
};

test('A strict program for a browser compiles with the sources of the client', async (t) => {
  const program = CONSUMER.replaceAll('petstore/client', SOURCE);
  await assertCompiles(linkPackage(tempDir(t)), program, BROWSER);
});

test('What the client imports runs in browsers, also old ones: no Node.js, no power of a bigint', () => {
  const checked = new Set<string>();
  const visit = (file: string): void => {
    if (checked.has(file)) return;
    checked.add(file);
    const code = readText(`src/${file}`);
    assert.doesNotMatch(code, /from 'node:|\bBuffer[.(]/, file);
    // A compiler for an older target makes Math.pow of it.
    assert.doesNotMatch(code, /[0-9a-fA-F]n *\*\*/, file);
    // What is imported as a type only is not loaded.
    const loaded = code.matchAll(/^(?:import|export) (?!type\b)[^;]*?from '(\.[^']+)'/gm);
    for (const [, target] of loaded) visit(join(dirname(file), target!).replaceAll('\\', '/'));
  };
  visit('extras/client/client.ts');
  assert.ok(checked.has('core/base/int64.ts'));
});

test('The examples in src/extras/client/README.md print what their comments say', async (t) => {
  const service = await openService(t);
  const blocks = readText('src/extras/client/README.md').matchAll(/^```js\n([^]*?)^```$/gm);
  const example = Array.from(blocks, ([, block]) => block).join('');
  const expected = Array.from(example.matchAll(/\/\/ (.*)/g), (match) => match[1]);
  assert.ok(expected.length > 0);
  const text = example.replace('http://127.0.0.1:8080', service.origin).replace('<API_KEY>', KEY);
  const printed = await outputOf(['--input-type=module', '--eval', text], { cwd: ROOT });
  assert.deepEqual(printed.trimEnd().split('\n'), expected);
});

test('If no connection can be opened, the error says why, and that no pet was added', async (t) => {
  const closed = await openService(t);
  await closed.close();
  const { host } = new URL(closed.origin);
  const cause = `cannot reach the service: connect ECONNREFUSED ${host}`;
  const client = createClient({ baseUrl: `${closed.origin}/v1`, apiKey: KEY, retries: 0 });
  await assert.rejects(client.createPet({ name: 'Rex', categoryId: 7 }), {
    code: 'network_failure',
    message: `createPet at ${closed.origin} ${cause}; no pet was added`,
    status: undefined,
  });
});
