/** Carried as a tarball: `npm pack` here, `npm install --offline` in an empty folder there. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  assertCompiles,
  assertServes,
  findNpm,
  npmEnv,
  pathWithThisNode,
  ROOT,
} from '../support/process/carry.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { outputOf } from '../support/process/process.ts';
import { blockOf, pathsIn, readText } from '../support/project.ts';

const MAX_TARBALL_BYTES = 800 << 10;

const npm = findNpm() ?? '';
const needsNpm = { skip: npm === '' && 'needs npm, which is not in PATH' };
const folder = tempDir({ after });
/** The folder in which the tarball is installed. */
const consumer = join(folder, 'an empty folder');
const installed = join(consumer, 'node_modules', 'petstore');
const command = join(consumer, 'node_modules', '.bin', 'petstore');
const env = npmEnv(join(folder, 'home'), pathWithThisNode(join(folder, 'bin')));
const inConsumer = { cwd: consumer, env };

/** Packs a fresh clone, whose `dist/` has a file that no source makes. */
before(async () => {
  if (npm === '') return;
  const clone = join(folder, 'clone');
  for (const name of ['package.json', 'README.md', 'tsconfig.json', 'scripts', 'src', 'test']) {
    fs.cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  }
  fs.symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  fs.mkdirSync(join(clone, 'dist'));
  fs.writeFileSync(join(clone, 'dist', 'stale.js'), '');
  await runNpm(clone, 'pack', '--pack-destination', folder);
  fs.mkdirSync(consumer);
  // Without it, npm would install into a folder above that has one, or has a node_modules.
  fs.writeFileSync(join(consumer, 'package.json'), '{}');
  await runNpm(consumer, 'install', tarballIn(folder));
});

test(
  'A pack builds a fresh clone, and the tarball has the sources, what is built from each, no more',
  needsNpm,
  () => {
    const sources = filesIn('src').map((path) => path.slice('src/'.length));
    const modules = sources.filter((name) => name.endsWith('.ts')).map((name) => name.slice(0, -3));
    const built = modules.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]);
    // At their paths of release 1.0.0.
    const forwarders = ['dist/check-data.js', 'dist/make-key.js'];
    const fixed = ['package.json', 'README.md', 'dist/LICENSE', 'dist/package.json'];
    const expected = [...fixed, ...built, ...forwarders, ...['src', 'scripts'].flatMap(filesIn)];
    const entries = entriesOf(tarballIn(folder)).filter((path) => !path.startsWith('test/'));
    assert.deepEqual(entries, expected.sort());
    assert.ok(fs.statSync(tarballIn(folder)).size < MAX_TARBALL_BYTES);
    const license = fs.readFileSync(join(installed, 'dist', 'LICENSE'), 'utf8');
    assert.match(license, /^MIT\n\nCopyright \(c\) 2026 [^]*WITHOUT WARRANTY[^]*SOFTWARE\.\n$/);
  },
);

test('Each link of a page in the tarball leads to a file in it', needsNpm, () => {
  const pages = entriesOf(tarballIn(folder)).filter((path) => path.endsWith('.md'));
  assert.ok(pages.length > 10);
  for (const page of pages) {
    const text = fs.readFileSync(join(installed, page), 'utf8').replaceAll(/^```[^]*?^```$/gm, '');
    for (const [, link = ''] of text.matchAll(/(?:\]\(|src(?:set)?=")([^)#"\s]+)/g)) {
      const isHere = /^[a-z]+:/.test(link) || fs.existsSync(join(installed, page, '..', link));
      assert.ok(isHere, `${link} on ${page}`);
    }
  }
});

test('The package cannot be published: its name on the registry is another project’s', () => {
  assert.equal((JSON.parse(readText('package.json')) as { private?: boolean }).private, true);
  for (const path of filesIn('src').filter((name) => name.endsWith('.md'))) {
    // Without --no, npx installs what is not there from the registry.
    assert.doesNotMatch(readText(path), /npx (?!--no )/, path);
  }
});

test('The command in the tarball serves, without another package', needsNpm, async (t) => {
  const packages = fs.readdirSync(join(consumer, 'node_modules'));
  assert.deepEqual(packages.sort(), ['.bin', '.package-lock.json', 'petstore']);
  await assertServes(t, [command], { cwd: consumer, env });
});

test('A program can import all that the package exports, and opens an app', needsNpm, async () => {
  const program = `${allImports()}
import { openApp } from 'petstore';
const app = await openApp({ dataFile: 'own.json', apiKeys: ['key'] });
console.log(await app.pets.create({ name: 'Rex', categoryId: 1n }));
await app.close();`;
  const printed = await outputOf(['--input-type=module', '--eval', program], inConsumer);
  assert.equal(printed, "{ id: 1n, name: 'Rex', categoryId: 1n }\n");
});

test(
  'A strict TypeScript program compiles with all that the package exports, and with its examples',
  needsNpm,
  async () => {
    const page = 'src/README.md';
    const joined = /createHttpServer\(\(request, response\) => .+?\(request, response\)\)/g;
    const servers = Array.from(readText(page).matchAll(joined), ([text]) => text);
    assert.equal(servers.length, 2);
    const handlers = `import { createHttpServer } from 'petstore';
import type { RequestListener } from 'node:http';
declare const handler: RequestListener;
${servers.join(';\n')};
`;
    fs.writeFileSync(join(consumer, 'shop.mts'), handlers + blockOf(page, 'js', '// shop.mjs'));
    await assertCompiles(consumer, `import './shop.mjs';\n${allImports()}${TYPED_PROGRAM}`);
  },
);

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

/** Returns the paths of the files in a folder of the project. */
function filesIn(path: string): readonly string[] {
  return pathsIn(path).filter((name) => fs.statSync(join(ROOT, name)).isFile());
}

/** Runs npm, and returns what it printed. */
function runNpm(cwd: string, ...args: readonly string[]): Promise<string> {
  return outputOf([npm, ...args], { cwd, env });
}

function tarballIn(path: string): string {
  const name = fs.readdirSync(path).find((entry) => entry.endsWith('.tgz'));
  return join(path, name ?? 'no tarball');
}

/** Returns the sorted paths in a tarball, without the folder `package` that npm adds. */
function entriesOf(tarball: string): readonly string[] {
  const entries = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' });
  return Array.from(entries.matchAll(/^package\/(.+)$/gm), ([, path]) => path!).sort();
}

/** Returns imports of what a program can import: `petstore`, `petstore/client` and so on. */
function allImports(): string {
  const manifest = fs.readFileSync(join(installed, 'package.json'), 'utf8');
  const exported = Object.keys((JSON.parse(manifest) as { exports: object }).exports);
  const modules = exported.filter((key) => !key.endsWith('.json'));
  return modules.map((key) => `import '${key.replace('.', 'petstore')}';\n`).join('');
}
