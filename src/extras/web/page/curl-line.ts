/** Curl lines for a POSIX shell. The API key is in $API_KEY, so that the line can be shared. */

export interface CurlRequest {
  /** For a curl line a word of the shell. */
  readonly url: string;
  readonly needsKey?: boolean;
  readonly idempotencyKey?: string | undefined;
  /** JSON. A request without a body is a GET. */
  readonly body?: string | undefined;
}

/** Each header field, the body and the address have a line of their own. */
export function curlLine({ url, needsKey = true, idempotencyKey, body }: CurlRequest): string {
  const parts = needsKey ? ['-H "Authorization: Bearer $API_KEY"'] : [];
  if (idempotencyKey !== undefined) parts.push(`-H 'Idempotency-Key: ${idempotencyKey}'`);
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
  return `curl ${[...parts, url].join(' \\\n  ')}`;
}

/** Returns the text as one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
