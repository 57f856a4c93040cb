/**
 * The kit as a test file, with base URL and API key from the environment (command.ts):
 *
 *     CONFORMANCE_URL=https://host/v1 CONFORMANCE_API_KEY=K node --test dist/kit/suite.js
 */

import { readSettings } from './command.ts';
import { testConformance } from './conformance.ts';
import { awaitService } from './run.ts';

const mistakes: string[] = [];
const settings = readSettings({ flags: new Map(), operands: [], mistakes }, process.env);
if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
await awaitService(settings, settings.waitMs);
testConformance(settings);
