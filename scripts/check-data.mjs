/** Checks a data file, after a build if necessary: see src/commands/check-data.ts. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
await import('../dist/commands/check-data.js');
