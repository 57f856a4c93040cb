/**
 * The kit as a test file, with base URL and API key from the environment (command.ts):
 *
 *     CONFORMANCE_URL=https://host/v1 CONFORMANCE_API_KEY=K node --test dist/extras/kit/suite.js
 */

import { declareSuite } from './command.ts';

await declareSuite(process.env);
