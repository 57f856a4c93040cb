/** Operation: one method of one path, and its handler. An API is a table of operations. */

import type { HttpResponse } from './http-response.ts';

export interface Operation {
  readonly name: string;
  /** Any method but HEAD, which each GET has, and OPTIONS, which each path has. */
  readonly method: string;
  /** A router's pattern: literal segments, and perhaps a parameter in braces at the end. */
  readonly path: string;
  /**
   * False if no API key is needed; true if it needs a key that is valid for everything; or a right,
   * if a key with only that is enough, too.
   */
  readonly needsKey: boolean | string;
  /** Returns or resolves with the response. Throws or rejects with an HttpError for a refusal. */
  handle(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
}

/** The part of a request that a handler sees. */
export interface HttpRequest {
  /** The value of the path's parameter, decoded, or '' if it has none. */
  readonly pathParameter: string;
  /** The query string as it was sent, without the question mark. */
  readonly query: string;
  /** Whose request it is: the SHA-256 digest of its API key, in hex, or '' if none is needed. */
  readonly keyDigest: string;
  /** Returns the header field with this name, in small letters; several lines of it are joined. */
  header(name: string): string | undefined;
  /** Resolves with the body, within the limit. Rejects as readBody does (request-body.ts). */
  readBody(): Promise<Buffer>;
}
