/**
 * npm run conformance: checks any pet store service against the API specification (see --help).
 *
 * A Node that runs TypeScript needs neither an installation nor a build.
 */

import { build, isBuilt } from './build.mjs';

if (isBuilt()) {
  await import('../dist/commands/conformance.js');
} else if (process.features.typescript) {
  await import('../src/commands/conformance.ts');
} else {
  build('tsconfig.json', 'dist');
  await import('../dist/commands/conformance.js');
}
