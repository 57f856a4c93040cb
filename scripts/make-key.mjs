/** Makes an API key, after a build if necessary: see src/commands/make-key.ts. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
await import('../dist/commands/make-key.js');
