/** Carried as a tarball: `npm pack` here, `npm install --offline` in an empty folder there. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { assertServes, findNpm, npmEnv, pathWithThisNode, ROOT } from '../support/process/carry.ts';
import { startService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const MAX_TARBALL_BYTES = 352 << 10;
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');

const npm = findNpm() ?? '';
const needsNpm = { skip: npm === '' && 'needs npm, which is not in PATH' };
const folder = tempDir({ after });
/** The folder in which the tarball is installed. */
const consumer = join(folder, 'an empty folder');
const installed = join(consumer, 'node_modules', 'petstore');
const env = npmEnv(join(folder, 'home'), pathWithThisNode(join(folder, 'bin')));

/** Packs a fresh clone, whose `dist/` has a file that no source makes. */
before(async () => {
  if (npm === '') return;
  const clone = join(folder, 'clone');
  for (const name of ['package.json', 'README.md', 'tsconfig.json', 'scripts', 'src']) {
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  mkdirSync(join(clone, 'dist'));
  writeFileSync(join(clone, 'dist', 'stale.js'), '');
  await runNpm(clone, 'pack', '--pack-destination', folder);
  mkdirSync(consumer);
  await runNpm(consumer, 'install', tarballIn(folder));
});

test(
  'A pack builds a fresh clone, and the tarball has what is built from each source, no more',
  needsNpm,
  async () => {
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const modules = sources.filter((name) => name.endsWith('.ts')).map((name) => name.slice(0, -3));
    const built = modules.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]);
    // At their paths of release 1.0.0.
    const forwarders = ['dist/check-data.js', 'dist/make-key.js'];
    const fixed = ['package.json', 'README.md', 'dist/LICENSE', 'dist/package.json'];
    const expected = [...fixed, ...built, ...forwarders];
    assert.deepEqual(await entriesOf(tarballIn(folder)), expected.sort());
    assert.ok(statSync(tarballIn(folder)).size < MAX_TARBALL_BYTES);
  },
);

test('The tarball has the text of its license', needsNpm, () => {
  const license = readFileSync(join(installed, 'dist', 'LICENSE'), 'utf8');
  assert.match(license, /^MIT\n\nCopyright \(c\) 2026 [^]*WITHOUT WARRANTY[^]*SOFTWARE\.\n$/);
});

test('The tarball installs without a registry and without another package', needsNpm, () => {
  const packages = readdirSync(join(consumer, 'node_modules'));
  assert.deepEqual(
    packages.filter((name) => !name.startsWith('.')),
    ['petstore'],
  );
});

test('The kit in the tarball checks a service, by npx and as a library', needsNpm, async (t) => {
  const service = await startService({ apiKeys: ['key'] });
  t.after(() => service.close());
  const baseUrl = `${service.origin}/v1`;
  const args = ['--', 'petstore', 'conformance', baseUrl, '--key', 'key', '--only', '8'];
  assert.match(await runNpm(consumer, 'exec', ...args), /\n3 hold; 0 fail; 0 not observed\n$/);
  const options = JSON.stringify({ baseUrl, key: 'key', only: ['8'] });
  const program = `import { testConformance } from 'petstore/conformance'; testConformance(${options});`;
  writeFileSync(join(consumer, 'own.test.mjs'), program);
  const run = [process.execPath, ['--test', '--test-reporter=tap', 'own.test.mjs']] as const;
  // `env` is without NODE_TEST_CONTEXT, with which the inner test runner reports to the outer one.
  const { stdout } = await promisify(execFile)(run[0], run[1], { cwd: consumer, env });
  assert.match(stdout, /\n# pass [34]\n# fail 0\n/);
});

test('The command in the tarball serves', needsNpm, async (t) => {
  const command = join(consumer, 'node_modules', '.bin', 'petstore');
  await assertServes(t, { command, args: [], cwd: consumer, env });
});

test('A program imports openApp from the package', needsNpm, async () => {
  writeFileSync(join(consumer, 'program.mjs'), PROGRAM);
  const { stdout } = await run(process.execPath, ['program.mjs'], consumer);
  assert.equal(stdout, '201 {"id":1,"name":"Rex","categoryId":1}\n');
});

test(
  'The package has each file that its exports and bin name, and a program can import it',
  needsNpm,
  async () => {
    const { bin, exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    const targets = [...Object.values(bin), ...targetsOf(exports)] as string[];
    assert.ok(targets.length >= 2);
    const missing = targets.filter((target) => !existsSync(join(installed, target)));
    assert.deepEqual(missing, []);
    const lines = specifiersIn(exports).map((name) => `await import('${name}');\n`);
    writeFileSync(join(consumer, 'imports.mjs'), lines.join(''));
    await run(process.execPath, ['imports.mjs'], consumer);
  },
);

test(
  'A strict TypeScript program compiles with the types of everything that the package exports',
  needsNpm,
  async () => {
    const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    const imports = specifiersIn(exports).map((name) => `import '${name}';\n`);
    writeFileSync(join(consumer, 'program.mts'), imports.join('') + TYPED_PROGRAM);
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify(TYPED_CONFIGURATION));
    await run(process.execPath, [TSC], consumer).catch((error: { stdout: string }) => {
      assert.fail(error.stdout);
    });
  },
);

const PROGRAM = `
import { createServer } from 'node:http';
import { openApp } from 'petstore';

const app = await openApp({ dataFile: 'own.json', apiKeys: ['key'] });
const server = createServer(app.listener);
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const answer = await fetch(\`http://127.0.0.1:\${server.address().port}/v1/pets\`, {
  method: 'POST',
  headers: { Authorization: 'Bearer key', 'Content-Type': 'application/json' },
  body: '{"name":"Rex","categoryId":1}',
});
console.log(answer.status, await answer.text());
server.close();
server.closeAllConnections();
await app.close();
`;

const TYPED_PROGRAM = `
import { createServer } from 'node:http';
import { createHttpServer, createMemoryStore, openApp, stringifyPet, type Pet, type PetStore } from 'petstore';
import { testPetStoreContract } from 'petstore/contract';

const store: PetStore = createMemoryStore();
const app = await openApp({ store, apiKeys: ['a-key'], prefix: '/shop' });
createServer(app.listener).listen(0);
createHttpServer(app.listener).close();
const rex: Pet = await app.pets.create({ name: 'Rex', categoryId: 7n });
export const id: bigint = rex.id;
export const rexText: string = stringifyPet((await app.pets.get(7)) ?? rex);
// @ts-expect-error A key is a text; this is no error if the types cannot be found.
await openApp({ dataFile: 'pets.json', apiKeys: [7] });
// @ts-expect-error A text is not an id.
await app.pets.get('7');
// @ts-expect-error The status does not exist.
await app.pets.list({ status: 'lost' });
testPetStoreContract('The memory store', () => () => store, { isDurable: false });
`;

const TYPED_CONFIGURATION = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules', '@types')],
    noUncheckedSideEffectImports: true,
  },
  files: ['program.mts'],
};

async function runNpm(cwd: string, ...args: readonly string[]): Promise<string> {
  return (await run(process.execPath, [npm, ...args], cwd)).stdout;
}

function run(command: string, args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  return promisify(execFile)(command, args, { cwd, env });
}

function tarballIn(path: string): string {
  const name = readdirSync(path).find((entry) => entry.endsWith('.tgz'));
  return join(path, name ?? 'no tarball');
}

/** Returns the sorted paths in a tarball, without the folder `package` that npm adds. */
async function entriesOf(tarball: string): Promise<readonly string[]> {
  const { stdout } = await run('tar', ['-tzf', tarball], folder);
  return stdout
    .trim()
    .replaceAll(/^package\//gm, '')
    .split('\n')
    .sort();
}

/** Returns all paths in an exports field, however its conditions are nested. */
function targetsOf(exports: unknown): readonly string[] {
  if (typeof exports === 'string') return [exports];
  return Object.values(exports as object).flatMap((value) => targetsOf(value));
}

/** Returns what a program can import: `petstore`, `petstore/client` and so on. */
function specifiersIn(exports: object): readonly string[] {
  const modules = Object.keys(exports).filter((key) => !key.endsWith('.json'));
  return modules.map((key) => key.replace('.', 'petstore'));
}
