/**
 * Builds src/ into dist/, and first installs the compiler if it is missing.
 *
 * The output folder is cleared first, since the compiler leaves the outputs of deleted sources.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import zlib from 'node:zlib';

export const root = fileURLToPath(new URL('..', import.meta.url));

// The newest function that the service needs. Without this check, an import would fail.
if (zlib.crc32 === undefined) {
  fail(`Node.js 20 from 20.19.2 on, or 22.15.1 or later, is needed, not ${process.version}`);
}

/**
 * What the compiler makes: its configuration, the folder that it fills, the folders of sources, and
 * configurations that it only checks.
 * @typedef {{ configuration: string, folder: string, sources: string[], checked: string[] }} Output
 */

/** @type {Output} */
export const DIST = {
  configuration: 'tsconfig.json',
  folder: 'dist',
  sources: ['src'],
  checked: [],
};

/** @type {Output} */
export const TESTS = {
  configuration: 'test/tsconfig.json',
  folder: '.build',
  sources: ['src', 'test', 'scripts'],
  checked: ['scripts/tsconfig.json'],
};

/** Besides the sources, these decide what the compiler makes; the lock file names its version. */
const CONFIGURATIONS = ['tsconfig.json', 'package.json', 'package-lock.json', 'scripts/build.mjs'];

/**
 * Compiles into the output's folder. Ends the process if that fails.
 * @param {Output} output
 */
export function build(output) {
  if (!install()) {
    fail(
      'The compiler cannot be installed; Node.js 22.18 or later needs none, nor does a built dist/',
    );
  }
  const { configuration, folder, checked } = output;
  fs.rmSync(join(root, folder), { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  for (const project of [configuration, ...checked]) {
    if (!run(process.execPath, [compiler, '--project', project])) fail('The build failed');
  }
  if (folder === 'dist') addToDist();
  // Without this file, a copy of the folder is CommonJS to older Nodes, or if a package.json around
  // it says so. It is written last, since it also marks a complete build.
  fs.writeFileSync(join(root, folder, STAMP), stampOf(output));
}

/** Adds what is not compiled. `npm start` works without a LICENSE. */
function addToDist() {
  // Scripts of operators may use the paths that these commands had in release 1.0.0.
  for (const name of ['check-data', 'make-key']) {
    const text = `process.argv.splice(2, 0, '${name}');\nawait import('./server.js');\n`;
    fs.writeFileSync(join(root, 'dist', `${name}.js`), text);
  }
  const license = join(root, 'src', 'LICENSE');
  if (fs.existsSync(license)) fs.copyFileSync(license, join(root, 'dist', 'LICENSE'));
}

/**
 * Returns true if the last build was complete, and no source, configuration or built file has been
 * changed, added or deleted since.
 * @param {Output} output
 */
export function isBuilt(output) {
  const stamp = join(root, output.folder, STAMP);
  return fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === stampOf(output);
}

/** Builds dist/, which some tests run, and the tests, if anything has been changed. */
export function buildTests() {
  for (const output of [DIST, TESTS]) if (!isBuilt(output)) build(output);
}

const STAMP = 'package.json';

/**
 * Returns the text of the stamp, with a digest of everything that decides what is built, and of
 * what was built. Times of files would not do: a copy or an older archive may bring another content
 * with an older time.
 * @param {Output} output
 */
function stampOf({ configuration, folder, sources }) {
  const inputs = sources.flatMap(pathsIn).filter((path) => /\.(ts|mjs|json)$/.test(path));
  const built = pathsIn(folder).filter((path) => path !== `${folder}/${STAMP}`);
  const hash = createHash('sha256');
  for (const path of [...CONFIGURATIONS, configuration, ...inputs, ...built]) {
    const content = fs.existsSync(join(root, path)) ? fs.readFileSync(join(root, path)) : '';
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return `${JSON.stringify({ type: 'module', digest: hash.digest('hex') })}\n`;
}

/**
 * Returns the paths, from the root, of all files below a folder of the project, in order.
 * @param {string} folder
 * @returns {string[]}
 */
export function pathsIn(folder) {
  const entries = fs.readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}

/** Installs the compiler with `npm ci`. Returns true if the compiler is installed. */
function install() {
  // Its package, and the one with its program for this machine.
  const packages = ['typescript', `@typescript/typescript-${process.platform}-${process.arch}`];
  const isInstalled = () =>
    packages.every((name) => fs.existsSync(join(root, 'node_modules', name, 'package.json')));
  if (isInstalled()) return true;
  console.log('Installing the compiler (npm ci), once');
  // Without a registry, npm's default waits between its attempts take over a minute.
  const waits = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000'];
  // NODE_ENV=production and `omit` in an .npmrc leave out what is needed here.
  const kinds = ['--include=dev', '--include=optional'];
  const [npm, ...args] = npmCommand(['ci', '--no-audit', '--no-fund', ...waits, ...kinds]);
  return run(npm, args) && isInstalled();
}

/**
 * Returns the command that runs npm with these arguments.
 * @param {string[]} args
 * @returns {[command: string, ...args: string[]]}
 */
export function npmCommand(args) {
  // npm passes its own path to its scripts, so that they run the same npm.
  const npm = process.env['npm_execpath'];
  return npm === undefined ? ['npm', ...args] : [process.execPath, npm, ...args];
}

/**
 * Runs a command in the project's folder and shows its output. Returns true if it succeeds.
 * @param {string} command
 * @param {string[]} args
 */
export function run(command, args) {
  // On Windows npm is a script, npm.cmd, which only a shell runs.
  const shell = process.platform === 'win32' && command === 'npm';
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', shell });
  if (error !== undefined) console.error(error.message);
  return status === 0;
}

/**
 * Returns the options and arguments of the process, as parseArgs does. Ends it with the exit code 2
 * and one line if they are not as configured.
 * @template {import('node:util').ParseArgsConfig} T
 * @param {T} config
 * @returns {ReturnType<typeof parseArgs<T>>}
 */
export function readArguments(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    // More sentences follow, on what Node could mean.
    return fail(String(/** @type {Error} */ (error).message).split(/\. |\n/, 1)[0] ?? '', 2);
  }
}

/**
 * Ends the process with a complaint.
 * @param {string} complaint
 * @param {number} code
 * @returns {never}
 */
export function fail(complaint, code = 1) {
  console.error(complaint);
  process.exit(code);
}

/**
 * Returns true if the file of this URL was started, perhaps through a symbolic link.
 * @param {string} url
 */
export function isMain(url) {
  const [, started = ''] = process.argv;
  return fs.existsSync(started) && fs.realpathSync(started) === fileURLToPath(url);
}

if (isMain(import.meta.url)) build(DIST);
