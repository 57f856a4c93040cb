/**
 * Builds src/ into dist/, installing the compiler first where it is missing.
 *
 * The output folder is cleared first: the compiler leaves what a deleted source once became.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Compiles a configuration into its folder; ends the process where that fails. */
export function build(configuration, outputFolder) {
  if (!install()) fail('The compiler cannot be installed');
  rmSync(join(root, outputFolder), { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!run(process.execPath, [compiler, '--project', configuration])) fail('The build failed');
}

/** True when dist/ is there and no source was changed since. */
export function isBuilt() {
  const built = join(root, 'dist', 'server.js');
  if (!existsSync(built)) return false;
  const sources = readdirSync(join(root, 'src'), { recursive: true });
  const newest = Math.max(...sources.map((name) => statSync(join(root, 'src', name)).mtimeMs));
  return statSync(built).mtimeMs >= newest;
}

/** True when the compiler is there, which `npm ci` brings once. */
export function install() {
  if (existsSync(join(root, 'node_modules', 'typescript', 'package.json'))) return true;
  console.log('Installing the compiler (npm ci), once');
  const args = ['ci', '--no-audit', '--no-fund'];
  // npm tells its scripts where it is itself, so that no other npm gets in between.
  const npm = process.env.npm_execpath;
  return npm === undefined ? run('npm', args) : run(process.execPath, [npm, ...args]);
}

/** Runs a command in the project's folder, showing what it prints; true when it succeeds. */
export function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error !== undefined) console.error(error.message);
  return status === 0;
}

export function fail(complaint) {
  console.error(complaint);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build('tsconfig.json', 'dist');
