/** Checks a data file, building first where needed: see src/commands/check-data.ts. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
await import('../dist/commands/check-data.js');
