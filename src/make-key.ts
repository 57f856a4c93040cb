/**
 * Makes an API key: the key itself for the client, and the line with its digest for the keys file.
 *
 *     node dist/make-key.js
 */

import { createHash, randomBytes } from 'node:crypto';

const key = randomBytes(24).toString('base64url');
const digest = createHash('sha256').update(key).digest('hex');
console.log(`# The key, for the client:\n${key}\n# Its line, for the keys file:\nsha256:${digest}`);
