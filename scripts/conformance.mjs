/**
 * npm run conformance: checks any pet store service against the interface; --help tells more.
 *
 * A Node that runs TypeScript itself needs nothing installed and nothing built.
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
