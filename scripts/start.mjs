/**
 * npm start: installs and builds if necessary, and then runs the service in this process, or the
 * command that the arguments name, such as `conformance`.
 *
 * A Node that runs TypeScript needs neither: without a registry it runs the sources, and a command
 * does not try to install anything.
 */

import { build, DIST, install, isBuilt } from './build.mjs';

const isCommand = /^[a-z]/.test(process.argv[2] ?? '');
const hasDist = isBuilt(DIST);
const { typescript } = /** @type {{ typescript?: unknown }} */ (process.features);
/** @param {string} path */
const load = (path) => import(new URL(path, import.meta.url).href);
if (!hasDist && typescript && (isCommand || !install())) {
  if (!isCommand) {
    console.log('The compiler cannot be installed; this Node runs the sources without it');
  }
  await load('../src/server.ts');
} else {
  if (!hasDist) build(DIST);
  await load('../dist/server.js');
}
