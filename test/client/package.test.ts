/**
 * The client in other programs: in a browser's realm, with its types, and as README.md shows it.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KEY, startService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

/** Found from this file's compiled place, .build/test/client. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

interface Output {
  readonly failed: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

function runNode(args: readonly string[], cwd = root): Promise<Output> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, stdout, stderr });
    });
  });
}

test('The client needs only the language and five functions of the web', async (t) => {
  const service = await startService();
  t.after(() => service.close());
  const realm = fileURLToPath(new URL('browser-realm.js', import.meta.url));
  const client = new URL('../../../dist/client/client.js', import.meta.url).href;
  const args = ['--experimental-vm-modules', realm, client, `${service.origin}/v1`, KEY];
  const { failed, stdout, stderr } = await runNode(args);
  assert.ok(!failed, stderr);
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
  ['Node', { lib: ['es2023'], types: ['node'], module: 'nodenext' }],
];

for (const [where, options] of CONSUMERS) {
  test(`A strict program for ${where} compiles with the types of the client`, async (t) => {
    const folder = tempDir(t);
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(root, join(folder, 'node_modules', 'petstore'), 'junction');
    writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const compilerOptions = {
      ...{ strict: true, skipLibCheck: false, exactOptionalPropertyTypes: true, noEmit: true },
      ...{ noUncheckedIndexedAccess: true, target: 'es2022' },
      ...{ typeRoots: [join(root, 'node_modules', '@types')], ...options },
    };
    const configuration = { compilerOptions, files: ['consumer.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration));
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { failed, stdout, stderr } = await runNode([tsc, '--project', folder]);
    assert.ok(!failed, stdout + stderr);
  });
}

test('The example in src/client/README.md prints what its comments say', async (t) => {
  const service = await startService();
  t.after(() => service.close());
  const readme = readFileSync(join(root, 'src', 'client', 'README.md'), 'utf8');
  const example = /```js\n([^]*?)```/.exec(readme)?.[1] ?? '';
  const expected = Array.from(example.matchAll(/\/\/ (.*)/g), (match) => match[1]);
  assert.ok(expected.length > 0);
  const code = example.replace('http://127.0.0.1:8080', service.origin).replace('<API_KEY>', KEY);
  const { failed, stdout, stderr } = await runNode(['--input-type=module', '--eval', code]);
  assert.ok(!failed, stderr);
  assert.deepEqual(stdout.trimEnd().split('\n'), expected);
});
