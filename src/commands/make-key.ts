/**
 * Makes an API key: the key itself for the client, and the line with its digest for the keys file.
 *
 *     petstore make-key
 */

import crypto, { randomBytes } from 'node:crypto';

const args = process.argv.slice(2);

if (args.length === 0) {
  const key = randomBytes(24).toString('base64url');
  const digest = crypto.hash('sha256', key, 'hex');
  console.log(
    `# The key, for the client:\n${key}\n# Its line, for the keys file:\nsha256:${digest}`,
  );
} else if (args.length === 1 && (args[0] === '--help' || args[0] === '-h')) {
  console.log('Usage: petstore make-key\n\nPrints a new API key, and the line for the keys file.');
} else {
  console.error('Usage: petstore make-key');
  process.exitCode = 2;
}
