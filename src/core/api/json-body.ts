/**
 * The body of a create: JSON text in UTF-8 (RFC 8259 section 8.1).
 *
 * If the header alone is a reason to refuse the request, no byte of the body is read, and a client
 * that waits for "100 Continue" sends none.
 */

import { isUtf8 } from 'node:buffer';
import { quote } from '../base/quote.ts';
import type { HttpError } from '../http/http-error.ts';
import type { HttpRequest } from '../http/operation.ts';
import { apiError } from './api-error.ts';

/**
 * Resolves with the text of a body. Rejects with an HttpError (400, 415), and as
 * `HttpRequest.readBody` does.
 */
export async function readJsonText({ header, readBody }: HttpRequest): Promise<string> {
  const contentType = header('content-type');
  if (contentType !== undefined && !JSON_MEDIA_TYPE.test(contentType)) {
    const message = `Content-Type must be application/json, not ${quote(contentType)}`;
    throw apiError('unsupported_media_type', message, ['Accept', 'application/json']);
  }
  const contentEncoding = header('content-encoding');
  if (contentEncoding !== undefined) {
    const message = `Content-Encoding ${quote(contentEncoding)} is not supported, send none`;
    throw apiError('unsupported_media_type', message, ['Accept-Encoding', 'identity']);
  }
  const body = await readBody();
  if (body.length === 0) throw invalidJson('A body is required, and it must be JSON');
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw invalidJson('The body starts with a byte order mark, which JSON does not allow');
  }
  if (!isUtf8(body)) throw invalidJson('The body is not valid UTF-8');
  return body.toString();
}

/** A comma outside quotes would mean that the field was sent twice. */
const JSON_MEDIA_TYPE: RegExp = /^application\/json[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;

/** Returns the error (400) of a body that is not JSON. */
export function invalidJson(message: string): HttpError {
  return apiError('invalid_json', message);
}
