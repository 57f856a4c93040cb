/**
 * npm start: runs the service in this process, or the command that the arguments name, such as
 * `conformance`. A Node that runs TypeScript runs the sources if there is no build; an older one
 * first installs the compiler and builds.
 */

import { build, DIST, isBuilt } from './build.mjs';

const hasDist = isBuilt(DIST);
const { typescript } = /** @type {{ typescript?: unknown }} */ (process.features);
if (!hasDist && !typescript) build(DIST);
const path = hasDist || !typescript ? '../dist/server.js' : '../src/server.ts';
await import(new URL(path, import.meta.url).href);
