/** Requests as they are sent, byte by byte. */

/** The API key of the services of tests. */
export const KEY = 'test-key';

const HOST_AND_KEY: readonly string[] = ['Host: a', `Authorization: Bearer ${KEY}`];

/** A pet, its text as the first one of a service, and requests. */
export const REX = '{"name":"Rex","categoryId":1}';
export const REX_1 = '{"id":1,"name":"Rex","categoryId":1}';
export const CHUNKED = 'Transfer-Encoding: chunked';
export const EXPECT = 'Expect: 100-continue';

/** A request with a host and the key; with a Content-Length if there is a body. */
export function requestOf(line: string, fields: readonly string[] = [], body = ''): string {
  const isSized = body !== '' && !fields.some((field) => /^transfer-encoding/i.test(field));
  const length = isSized ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  const all = [...HOST_AND_KEY, ...fields, ...length].map((field) => `${field}\r\n`).join('');
  return `${line} HTTP/1.1\r\n${all}\r\n${body}`;
}

/** The same, and the connection is to be closed after it. */
export function lastRequestOf(line: string, fields: readonly string[] = [], body = ''): string {
  return requestOf(line, ['Connection: close', ...fields], body);
}

export const CREATE: string = requestOf('POST /v1/pets', [], REX);
export const LIVEZ: string = requestOf('GET /livez');

/** A body in two chunks, the first of them with so many characters. */
export function inChunks(body: string, first = 8): string {
  return [body.slice(0, first), body.slice(first), '']
    .map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
    .join('');
}
