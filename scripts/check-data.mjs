/** Checks a data file, after a build if necessary: see src/commands/check-data.ts. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
process.argv.splice(2, 0, 'check-data');
await import('../dist/server.js');
