/** Makes an API key, building first where needed: see src/commands/make-key.ts. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
await import('../dist/commands/make-key.js');
