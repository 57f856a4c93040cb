/**
 * npm start: installs and builds if necessary, and then runs the service in this process.
 *
 * A Node that runs TypeScript needs neither, so without a registry it runs the sources.
 */

import { build, install, isBuilt } from './build.mjs';

if (isBuilt()) {
  await import('../dist/server.js');
} else if (install() || !process.features.typescript) {
  build('tsconfig.json', 'dist');
  await import('../dist/server.js');
} else {
  console.log('The compiler cannot be installed; this Node runs the sources without it');
  await import('../src/server.ts');
}
