/** Copies of the service elsewhere on the machine, and a check that they work, for tests. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { ROOT } from '../project.ts';
import { pathOf } from './program.ts';
import {
  addPet,
  end,
  KEY,
  listPets,
  PET,
  outputOf,
  startProgram,
  type ProgramOptions,
} from './process.ts';

export { ROOT };

/**
 * Checks that a program serves: it creates and lists a pet, and a stop writes the data file in its
 * working directory. Resolves with what it wrote to standard error.
 */
export async function assertServes(
  t: TestContext,
  [command, ...args]: readonly [string, ...string[]],
  { cwd, env, ...options }: ProgramOptions & { readonly cwd: string },
): Promise<string> {
  const allEnv = { PETSTORE_API_KEYS: KEY, ...env };
  const service = startProgram(command, [...args, '--port', '0'], { ...options, cwd, env: allEnv });
  t.after(() => end(service, 'SIGKILL'));
  const base = await service.ready();
  const pets = [{ id: 1, ...JSON.parse(PET) }] as const;
  assert.equal((await addPet(base)).status, 201);
  assert.deepEqual(await (await listPets(base)).json(), pets);
  await assertHasPage(base);
  assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, 'data', 'pets.json'), 'utf8')), pets);
  return service.stderr();
}

/** Checks the page for people, with the first and the last of the modules that it loads. */
async function assertHasPage(base: string): Promise<void> {
  const page = await (await fetch(`${base}/`)).text();
  const [, main = '', suffix = ''] = /<script type="module" src="(.+?)(\.[jt]s)">/.exec(page) ?? [];
  for (const path of [`${main}${suffix}`, `page/extras/client/send${suffix}`]) {
    const response = await fetch(`${base}/${path}`);
    assert.equal(response.headers.get('Content-Type'), 'text/javascript; charset=utf-8');
    const text = await response.text();
    assert.match(text, /^import \{/m, path);
    // If the sources run, the service removes the types.
    assert.doesNotMatch(text, /^(import type|export interface)/m, path);
  }
}

/** Lets the programs of a folder import the package, as built here. Returns the folder. */
export function linkPackage(folder: string): string {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'petstore'), 'dir');
  return folder;
}

const STRICT = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  ...{ skipLibCheck: false, noUncheckedSideEffectImports: true, noEmit: true, target: 'es2022' },
  ...{ lib: ['es2023'], module: 'nodenext', types: ['node'] },
  typeRoots: [join(ROOT, 'node_modules', '@types')],
};

/** Checks that a TypeScript program in the folder compiles: for Node, if no options say more. */
export async function assertCompiles(folder: string, text: string, options = {}): Promise<void> {
  writeFileSync(join(folder, 'program.mts'), text);
  const configuration = { compilerOptions: { ...STRICT, ...options }, files: ['program.mts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration));
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  await outputOf([tsc, '--project', folder]);
}

/** Returns a PATH that has this Node as `node`, for scripts that begin with `#!`. */
export function pathWithThisNode(folder: string): string {
  mkdirSync(folder, { recursive: true });
  symlinkSync(process.execPath, join(folder, 'node'));
  return `${folder}${delimiter}${process.env['PATH'] ?? ''}`;
}

/** Returns the script of the npm that runs the tests, or of the npm in PATH, or undefined. */
export function findNpm(): string | undefined {
  const found = [process.env['npm_execpath'], pathOf('npm')].map(
    (path) => path && realpathSync(path),
  );
  return found.find((path) => path !== undefined && basename(path) === 'npm-cli.js');
}

/** Returns an environment for npm: an empty home, and no network. */
export function npmEnv(home: string, path: string): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    npm_config_cache: join(home, 'npm-cache'),
    npm_config_offline: 'true',
    npm_config_audit: 'false',
  };
}
