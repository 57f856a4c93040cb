/** Makes an API key, after a build if necessary: see src/commands/make-key.ts. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
process.argv.splice(2, 0, 'make-key');
await import('../dist/server.js');
