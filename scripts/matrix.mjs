/**
 * npm run matrix: runs npm test on every supported Node, one after the other, with the same
 * arguments as npm test. The Nodes come from the npm package `node`, which npm keeps in its cache.
 */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { fail, npmCommand, root, run } from './build.mjs';

const SUPPORTED = [20, 22, 24, 26];

/**
 * Returns the path of the newest Node of a major version.
 * @param {number} major
 */
function fetchNode(major) {
  // The package's install script fetches the binary for this system.
  const options = ['exec', '--yes', '--ignore-scripts=false', `--package=node@${major}`];
  const [command, ...args] = npmCommand([...options, '--', 'node', '-p', 'process.execPath']);
  const { stdout, status } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : fail(`Node ${major} cannot be fetched by npm`);
}

const nodes = SUPPORTED.flatMap((major) => ['--node', fetchNode(major)]);
const test = fileURLToPath(new URL('test.mjs', import.meta.url));
process.exitCode = run(process.execPath, [test, ...nodes, ...process.argv.slice(2)]) ? 0 : 1;
