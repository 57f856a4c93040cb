/** npm start: installs and builds where needed, then runs the service in this same process. */

import { build, isBuilt } from './build.mjs';

if (!isBuilt()) build('tsconfig.json', 'dist');
await import('../dist/server.js');
