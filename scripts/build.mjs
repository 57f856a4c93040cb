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
  install();
  rmSync(join(root, outputFolder), { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  run(process.execPath, [compiler, '--project', configuration], 'The build failed');
}

/** True when dist/ is there and no source was changed since. */
export function isBuilt() {
  const built = join(root, 'dist', 'server.js');
  if (!existsSync(built)) return false;
  const sources = readdirSync(join(root, 'src'), { recursive: true });
  const newest = Math.max(...sources.map((name) => statSync(join(root, 'src', name)).mtimeMs));
  return statSync(built).mtimeMs >= newest;
}

export function isInstalled() {
  return existsSync(join(root, 'node_modules', 'typescript', 'package.json'));
}

export function run(command, args, complaint) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status === 0) return;
  console.error(error === undefined ? complaint : `${complaint}: ${error.message}`);
  process.exit(status ?? 1);
}

function install() {
  if (isInstalled()) return;
  console.log('Installing the compiler (npm ci), once');
  const npm = process.env.npm_execpath;
  const args = ['ci', '--no-audit', '--no-fund'];
  if (npm === undefined) run('npm', args, 'npm ci failed');
  else run(process.execPath, [npm, ...args], 'npm ci failed');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build('tsconfig.json', 'dist');
