/** What is carried to another place, and that it works there, for tests. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { end, KEY, startProgram, type ProgramOptions } from './process.ts';

/** The project's folder, found from this file's compiled place, .build/test/support. */
export const ROOT: string = fileURLToPath(new URL('../../../../', import.meta.url));

export interface CarriedProgram extends ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Where it is started, and where it makes its data folder. */
  readonly cwd: string;
}

/** The program serves: a pet is created, got, and in the data file after a stop. */
export async function assertServes(t: TestContext, program: CarriedProgram): Promise<void> {
  const { command, args, cwd, env, ...options } = program;
  const allEnv = { PETSTORE_API_KEYS: KEY, ...env };
  const service = startProgram(command, [...args, '--port', '0'], { ...options, cwd, env: allEnv });
  t.after(() => end(service, 'SIGKILL'));
  const base = await service.ready();
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  const body = '{"name":"Rex","categoryId":1}';
  const created = await fetch(`${base}/v1/pets`, { method: 'POST', headers, body });
  assert.equal(created.status, 201, await created.text());
  const got = await fetch(`${base}${created.headers.get('Location')}`, { headers });
  await assertHasPage(base);
  const pet = { id: 1, name: 'Rex', categoryId: 1 };
  assert.deepEqual(await got.json(), pet);
  assert.equal(await end(service, 'SIGTERM'), 0, service.stderr());
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, 'data', 'pets.json'), 'utf8')), [pet]);
}

/** The page for people is there, with the first and the last of the modules that it loads. */
async function assertHasPage(base: string): Promise<void> {
  const page = await (await fetch(`${base}/`)).text();
  const [, main = '', suffix = ''] = /<script type="module" src="(.+?)(\.[jt]s)">/.exec(page) ?? [];
  for (const path of [`${main}${suffix}`, `page/client/send${suffix}`]) {
    assert.equal((await fetch(`${base}/${path}`)).status, 200, path);
  }
}

/** PATH with this Node as `node`: what starts by its first line takes that one. */
export function pathWithThisNode(folder: string): string {
  mkdirSync(folder, { recursive: true });
  symlinkSync(process.execPath, join(folder, 'node'));
  return `${folder}${delimiter}${process.env['PATH'] ?? ''}`;
}

/** npm, by its script: the one that runs the tests, or that of PATH. Undefined without any. */
export function findNpm(): string | undefined {
  const isNpm = (path: string): boolean => basename(path) === 'npm-cli.js';
  const own = process.env['npm_execpath'];
  if (own !== undefined && isNpm(own)) return own;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, 'npm')).find((path) => existsSync(path));
  return found !== undefined && isNpm(realpathSync(found)) ? realpathSync(found) : undefined;
}

/** What npm is to know of its user: nothing but an empty home, and to stay off the network. */
export function npmEnv(home: string, path: string): Record<string, string> {
  return {
    PATH: path,
    HOME: home,
    npm_config_cache: join(home, 'npm-cache'),
    npm_config_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
}
