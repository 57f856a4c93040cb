/**
 * Runs the tests on every supported Node, one after the other, and prints a line for each.
 *
 * A Node that is not given comes from the npm package `node`, installed once into a folder outside
 * the project. Remove that folder to get newer ones. Exit code 0: no test failed on any Node.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fail, root, runNpm } from './build.mjs';
import { buildTests, testArguments } from './test.mjs';

const SUPPORTED = ['20', '22', '24', '26'];
const REPORTER = new URL('matrix-reporter.mjs', import.meta.url);
const CACHE = join(tmpdir(), 'petstore-nodes');
const WIDTHS = [10, 7, 8, 8, 9, 9];
const MAX_FAILURES = 20;

const USAGE = `Runs the tests on every supported Node, and prints a line for each.

Usage: npm run matrix -- [options] [part of a test file's path ...]

  --only VERSIONS      22,24 or any others that the npm package node has, such as 20.19.2
  --node VERSION=PATH  a Node that is there already, such as 20=/path/to/node
`;

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string' },
    node: { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
if (values.help) {
  console.log(USAGE);
  process.exit();
}
const given = new Map(values.node.map(readGiven));
const wanted = values.only?.split(',') ?? [...new Set([...SUPPORTED, ...given.keys()])];

// Fetches all of them before the first run, so that a missing one is reported immediately.
const nodes = wanted.map((version) => [version, given.get(version) ?? fetchNode(version)]);
buildTests();
const args = testArguments(REPORTER, positionals);
console.log(row(['Node', 'Tests', 'Passed', 'Failed', 'Skipped', 'Seconds'], ''));
const outcomes = nodes.map(([version, node]) => runOn(version, node, args));
process.exitCode = outcomes.every((isOk) => isOk) ? 0 : 1;

function readGiven(text) {
  const [, version, path] = /^([^=]+)=(.+)$/.exec(text) ?? fail(`--node ${text} is no 20=PATH`);
  return [version, resolve(path)];
}

/** Returns the path of the binary, or undefined if it cannot be installed. */
function fetchNode(version) {
  const folder = join(CACHE, version);
  const binary = join(folder, 'node_modules', 'node', 'bin', 'node');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The owner of this folder decides which program is run.
  const owner = process.getuid?.();
  if (owner !== undefined && statSync(CACHE).uid !== owner) fail(`${CACHE} is another user's`);
  if (existsSync(binary)) return binary;
  // The package's install script fetches the binary for this system.
  const options = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts=false', '--silent'];
  const isThere = runNpm(['install', '--prefix', folder, ...options, `node@${version}`]);
  return isThere && existsSync(binary) ? binary : undefined;
}

/** Runs the tests and prints their result. Returns true if none failed. */
function runOn(version, node, args) {
  if (node === undefined) {
    console.log(row([version], 'FAILED: cannot be fetched; give one with --node'));
    return false;
  }
  const start = performance.now();
  const { stdout, status, signal, error } = spawnSync(node, args, {
    cwd: root,
    // A program that runs `node` by name, such as an npm script, gets this one, too.
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 << 20,
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const result = readResult(stdout);
  if (result === undefined) {
    console.log(row([version], `FAILED: ${error?.message ?? `ended with ${signal ?? status}`}`));
    return false;
  }
  const { version: ran, passed, failed, skipped, failures } = result;
  const isOk = status === 0 && failed === 0;
  const counts = [passed + failed + skipped, passed, failed, skipped];
  console.log(row([ran, ...counts, seconds], isOk ? 'ok' : 'FAILED'));
  for (const { name, file, cause } of failures.slice(0, MAX_FAILURES)) {
    console.log(`  ${name}\n    ${file === undefined ? '' : `${relative(root, file)}: `}${cause}`);
  }
  if (failures.length > MAX_FAILURES) console.log(`  and ${failures.length - MAX_FAILURES} more`);
  if (!isOk) console.log(`  To see all of it: npm test -- --node ${node}`);
  return isOk;
}

function readResult(stdout) {
  const line = stdout?.toString().trim().split('\n').at(-1);
  return line?.startsWith('{') ? JSON.parse(line) : undefined;
}

function row(cells, verdict) {
  const [first, ...numbers] = cells.map(String);
  const rest = numbers.map((cell, index) => cell.padStart(WIDTHS[index + 1]));
  return `${first.padEnd(WIDTHS[0])}${rest.join('')}  ${verdict}`.trimEnd();
}
