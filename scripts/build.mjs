/**
 * Builds src/ into dist/, and first installs the compiler if it is missing.
 *
 * The output folder is cleared first, since the compiler leaves the outputs of deleted sources.
 */

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';

export const root = fileURLToPath(new URL('..', import.meta.url));

// The newest function that the service needs. Without this check, an import would fail.
if (zlib.crc32 === undefined) {
  fail(`Node.js 20 from 20.19.2 on, or 22.15.1 or later, is needed, not ${process.version}`);
}

/** Compiles a configuration into its folder. Ends the process if that fails. */
export function build(configuration, outputFolder) {
  if (!install()) {
    fail(
      'The compiler cannot be installed; Node.js 22.18 or later needs none, nor does a built dist/',
    );
  }
  rmSync(join(root, outputFolder), { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!run(process.execPath, [compiler, '--project', configuration])) fail('The build failed');
  if (outputFolder === 'dist') addToDist();
  // Without this file, a copy of the folder is CommonJS to older Nodes, or if a package.json around
  // it says so. It is written last, since it also marks a complete build.
  writeFileSync(join(root, outputFolder, STAMP), '{ "type": "module" }\n');
}

/** Adds what is not compiled. `npm start` works without a README. */
function addToDist() {
  // Scripts of operators may use the paths that these commands had in release 1.0.0.
  for (const name of ['check-data', 'make-key']) {
    const text = `process.argv.splice(2, 0, '${name}');\nawait import('./server.js');\n`;
    writeFileSync(join(root, 'dist', `${name}.js`), text);
  }
  const readme = join(root, 'README.md');
  if (!existsSync(readme)) return;
  const [, license] = readFileSync(readme, 'utf8').split('\n## License\n\n');
  if (license === undefined) fail('README.md must end with the section License, for dist/LICENSE');
  writeFileSync(join(root, 'dist', 'LICENSE'), license);
}

/** Returns true if dist/ was built completely, no file is missing, and no source is newer. */
export function isBuilt() {
  const stamp = join(root, 'dist', STAMP);
  if (!existsSync(stamp)) return false;
  const builtAt = statSync(stamp).mtimeMs;
  const names = readdirSync(join(root, 'src'), { recursive: true });
  return names.every((name) => {
    if (!name.endsWith('.ts')) return true;
    const built = join(root, 'dist', name.replace(/\.ts$/, '.js'));
    return existsSync(built) && statSync(join(root, 'src', name)).mtimeMs <= builtAt;
  });
}

const STAMP = 'package.json';

/** Installs the compiler with `npm ci`. Returns true if the compiler is installed. */
export function install() {
  if (existsSync(join(root, 'node_modules', 'typescript', 'package.json'))) return true;
  console.log('Installing the compiler (npm ci), once');
  // Without a registry, npm's default waits between its attempts take over a minute.
  const waits = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000'];
  const [npm, ...args] = npmCommand(['ci', '--no-audit', '--no-fund', ...waits]);
  return run(npm, args);
}

/** Returns the command that runs npm with these arguments. */
export function npmCommand(args) {
  // npm passes its own path to its scripts, so that they run the same npm.
  const npm = process.env.npm_execpath;
  return npm === undefined ? ['npm', ...args] : [process.execPath, npm, ...args];
}

/** Runs a command in the project's folder and shows its output. Returns true if it succeeds. */
export function run(command, args) {
  // On Windows npm is a script, npm.cmd, which only a shell runs.
  const shell = process.platform === 'win32' && command === 'npm';
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', shell });
  if (error !== undefined) console.error(error.message);
  return status === 0;
}

export function fail(complaint) {
  console.error(complaint);
  process.exit(1);
}

/** Returns true if this file was started, perhaps through a symbolic link. */
export function isMain(url) {
  const [, started = ''] = process.argv;
  return existsSync(started) && realpathSync(started) === fileURLToPath(url);
}

if (isMain(import.meta.url)) build('tsconfig.json', 'dist');
