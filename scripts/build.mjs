/**
 * Builds src/ into dist/, installing the compiler first where it is missing.
 *
 * The output folder is cleared first: the compiler leaves what a deleted source once became.
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

// The newest thing that the service needs: without it, only an import would fail, and say little.
if (zlib.crc32 === undefined) fail(`Node.js 20.19.2 or later is needed, not ${process.version}`);

/** Compiles a configuration into its folder; ends the process where that fails. */
export function build(configuration, outputFolder) {
  if (!install()) {
    fail(
      'The compiler cannot be installed; Node.js 22.18 or later needs none, nor does a built dist/',
    );
  }
  rmSync(join(root, outputFolder), { recursive: true, force: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  if (!run(process.execPath, [compiler, '--project', configuration])) fail('The build failed');
  if (outputFolder === 'dist') {
    forwardEarlierPaths();
    writeLicense();
  }
  // Else a copy of the folder is CommonJS to older Nodes, or to a package.json around it. Written
  // last, so that it also tells that the build has come to its end.
  writeFileSync(join(root, outputFolder, STAMP), '{ "type": "module" }\n');
}

/** Operators' scripts may have the paths that these commands had in release 1.0.0. */
function forwardEarlierPaths() {
  for (const name of ['check-data', 'make-key']) {
    writeFileSync(join(root, 'dist', `${name}.js`), `import './commands/${name}.js';\n`);
  }
}

/** The licence is the end of the README, and goes wherever dist/ goes. */
function writeLicense() {
  const readme = join(root, 'README.md');
  const text = existsSync(readme) ? readFileSync(readme, 'utf8') : '';
  const start = text.indexOf(LICENSE_HEADING);
  if (start === -1) fail('README.md must end with the section License: dist/ needs a copy of it');
  writeFileSync(join(root, 'dist', 'LICENSE'), text.slice(start + LICENSE_HEADING.length));
}

/** True when dist/ was built to its end, nothing is missing in it, and no source is newer. */
export function isBuilt() {
  const stamp = join(root, 'dist', STAMP);
  if (!existsSync(stamp)) return false;
  const builtAt = statSync(stamp).mtimeMs;
  const sources = readdirSync(join(root, 'src'), { recursive: true });
  return sources
    .filter((name) => name.endsWith('.ts'))
    .every((name) => {
      const built = join(root, 'dist', name.replace(/\.ts$/, '.js'));
      return existsSync(built) && statSync(join(root, 'src', name)).mtimeMs <= builtAt;
    });
}

const STAMP = 'package.json';
const LICENSE_HEADING = '\n## License\n\n';

let hasFailedToInstall = false;

/** True when the compiler is there, which `npm ci` brings once. */
export function install() {
  if (existsSync(join(root, 'node_modules', 'typescript', 'package.json'))) return true;
  if (hasFailedToInstall) return false;
  console.log('Installing the compiler (npm ci), once');
  // Where no registry is in reach, npm's own waits between its tries take more than a minute.
  const waits = ['--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=3000'];
  hasFailedToInstall = !runNpm(['ci', '--no-audit', '--no-fund', ...waits]);
  return !hasFailedToInstall;
}

/** Runs npm in the project's folder; true when it succeeds. */
export function runNpm(args) {
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

/** True when this is the file that was started, by a symbolic link perhaps. */
export function isMain(url) {
  const [, started = ''] = process.argv;
  return existsSync(started) && realpathSync(started) === fileURLToPath(url);
}

if (isMain(import.meta.url)) build('tsconfig.json', 'dist');
