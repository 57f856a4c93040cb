/**
 * npm start: installs and builds where needed, then runs the service in this same process.
 *
 * Where no registry is in reach, a Node that runs TypeScript itself needs neither.
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
