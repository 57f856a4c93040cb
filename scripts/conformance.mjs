/**
 * npm run conformance: checks any pet store service against the API specification (see --help).
 *
 * A Node that runs TypeScript needs neither an installation nor a build.
 */

import { build, isBuilt } from './build.mjs';

process.argv.splice(2, 0, 'conformance');
if (isBuilt()) {
  await import('../dist/server.js');
} else if (process.features.typescript) {
  await import('../src/server.ts');
} else {
  build('tsconfig.json', 'dist');
  await import('../dist/server.js');
}
