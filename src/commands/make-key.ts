/**
 * Prints a new API key for the client, and the line with its digest for the API keys file.
 *
 *     petstore make-key [NAME]
 */

import crypto, { randomBytes } from 'node:crypto';
import { keyNameProblem } from '../api-keys/api-key.ts';

const USAGE = 'Usage: petstore make-key [NAME]';

const [name, ...others] = process.argv.slice(2);
const problem = name === undefined ? undefined : keyNameProblem(name);

if ((name === '--help' || name === '-h') && others.length === 0) {
  console.log(
    `${USAGE}\n\nPrints a new API key for the client, and its line for the API keys file.`,
  );
} else if (others.length > 0 || name?.startsWith('-') || problem !== undefined) {
  console.error(USAGE + (problem === undefined ? '' : `\n${problem}`));
  process.exitCode = 2;
} else {
  const key = randomBytes(24).toString('base64url');
  const line = name === undefined ? '' : `${name}: `;
  const digest = crypto.hash('sha256', key, 'hex');
  console.log(
    `# The API key, for the client:\n${key}\n# Its line, for the API keys file:\n${line}sha256:${digest}`,
  );
}
