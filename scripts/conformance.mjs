/**
 * npm run conformance: checks any pet store service against the interface; --help tells more.
 *
 * The checks are TypeScript and need no more of the project than themselves; they are built first
 * where they have changed.
 */

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, root } from './build.mjs';

const SOURCES = join('test', 'conformance');
const OUTPUT = join('.build', 'conformance');
const COMMAND = join(root, OUTPUT, 'command.js');

if (!isBuilt()) build(join(SOURCES, 'tsconfig.json'), OUTPUT);
const { runCommand } = await import(pathToFileURL(COMMAND).href);
process.exitCode = await runCommand(process.argv.slice(2), console.log, console.error);

function isBuilt() {
  if (!existsSync(COMMAND)) return false;
  const newest = readdirSync(join(root, SOURCES)).map(
    (name) => statSync(join(root, SOURCES, name)).mtimeMs,
  );
  return statSync(COMMAND).mtimeMs >= Math.max(...newest);
}
