/**
 * Makes an API key: the key itself for the client, and the line with its digest for the keys file.
 *
 *     node scripts/make-key.mjs
 */

import { createHash, randomBytes } from 'node:crypto';

const key = randomBytes(24).toString('base64url');
console.log(`key      ${key}`);
console.log(`digest   sha256:${createHash('sha256').update(key).digest('hex')}`);
