/**
 * The client in other programs: in a browser's realm, with its types, and as README.md shows it.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { blockOf } from '../support/browser/page-block.ts';
import { KEY, openService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { assertCompiles, linkPackage, ROOT } from '../support/process/carry.ts';
import { runNode } from '../support/process/process.ts';

test('The client needs only the language and five functions of the web', async (t) => {
  const service = await openService(t);
  const realm = fileURLToPath(new URL('browser-realm.js', import.meta.url));
  const client = pathToFileURL(join(ROOT, 'dist', 'client', 'client.js')).href;
  const args = ['--experimental-vm-modules', realm, client, `${service.origin}/v1`, KEY];
  const { code, stdout, stderr } = await runNode(args);
  assert.equal(code, 0, stderr);
  const pets = ['Rex', '\ud800', 'Ada'].map((name, index) => {
    return { id: `${index + 1}n`, name, categoryId: '9223372036854775807n' };
  });
  const notFound = { name: 'PetStoreError', code: 'not_found', status: 404 };
  assert.deepEqual(JSON.parse(stdout), { added: pets, listed: pets, notFound });
});

const CONSUMER = `
import { createClient, PetStoreError } from 'petstore/client';
import type { ClientOptions, Pet, PetPage, PetStatus, PetStoreClient } from 'petstore/client';

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

const BUNDLER = { module: 'esnext', moduleResolution: 'bundler' };

const CONSUMERS: readonly (readonly [where: string, options: object])[] = [
  ['a browser', { lib: ['es2020', 'dom'], types: [], ...BUNDLER }],
  ['Node', {}],
];

for (const [where, options] of CONSUMERS) {
  test(`A strict program for ${where} compiles with the types of the client`, async (t) => {
    await assertCompiles(linkPackage(tempDir(t)), CONSUMER, options);
  });
}

test('The example in src/client/README.md prints what its comments say', async (t) => {
  const service = await openService(t);
  const example = blockOf('src/client/README.md', 'js', 'allPets');
  const expected = Array.from(example.matchAll(/\/\/ (.*)/g), (match) => match[1]);
  assert.ok(expected.length > 0);
  const text = example.replace('http://127.0.0.1:8080', service.origin).replace('<API_KEY>', KEY);
  const run = await runNode(['--input-type=module', '--eval', text], { cwd: ROOT });
  assert.deepEqual([run.code, run.stdout.trimEnd().split('\n')], [0, expected], run.stderr);
});
