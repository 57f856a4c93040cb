/** Checks a data file, building first where needed: see src/check-data.ts. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
await import('../dist/check-data.js');
