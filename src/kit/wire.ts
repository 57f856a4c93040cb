/** One connection, byte by byte, over TCP or TLS (RFC 9112): for what fetch cannot say. */

import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type Bytes = string | Buffer;

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Writes the first part at once, each further one when something has come after the part before,
 * and resolves with all that came when the service closes. With `isLast` the connection is
 * closed to this side after the parts, as by a client that goes away.
 */
export function talk(
  { protocol, hostname, port }: URL,
  parts: readonly Bytes[],
  { timeoutMs, isLast }: { readonly timeoutMs: number; readonly isLast: boolean },
): Promise<Buffer> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return new Promise((resolve, reject) => {
    const socket =
      protocol === 'https:'
        ? connectTls({ host, port: Number(port || 443), ...servername })
        : connect({ host, port: Number(port || 80) });
    const received: Buffer[] = [];
    const [first = '', ...rest] = parts;
    if (isLast) socket.end(first);
    else socket.write(first);
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      const next = rest.shift();
      if (next !== undefined) socket.write(next);
    });
    socket.setTimeout(timeoutMs, () => {
      const text = JSON.stringify(Buffer.concat(received).toString().slice(0, 200));
      const seconds = timeoutMs / 1000;
      socket.destroy(new Error(`The connection was left open for ${seconds} s after ${text}`));
    });
    socket.on('error', (error) => {
      // A reset after a response is how a server stops a client that goes on sending.
      const isReset = (error as NodeJS.ErrnoException).code !== undefined && received.length > 0;
      if (!isReset && !isLast) reject(error);
    });
    socket.on('close', () => resolve(Buffer.concat(received)));
  });
}

/** Throws where the bytes are not HTTP. The response to a HEAD has no body, whatever its header. */
export function readResponses(bytes: Buffer, isHead: boolean): readonly ServiceResponse[] {
  const responses: ServiceResponse[] = [];
  for (let rest = bytes.toString('latin1'); rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`No end of the header in ${JSON.stringify(rest)}`);
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const match = /^HTTP\/1\.[01] ([0-9]{3})(?: |$)/.exec(statusLine);
    if (match === null) throw new Error(`No status line in ${JSON.stringify(rest)}`);
    const status = Number(match[1]);
    const headers = new Headers(lines.map(readField));
    const hasBody = !isHead && status >= 200 && status !== 204 && status !== 304;
    const after = rest.slice(end + 4);
    const body = hasBody ? readBody(after, headers) : { text: '', length: 0 };
    responses.push({ status, headers, text: Buffer.from(body.text, 'latin1').toString() });
    rest = after.slice(body.length);
  }
  return responses;
}

interface Body {
  readonly text: string;
  /** With its chunks' frames. */
  readonly length: number;
}

function readField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function readBody(text: string, headers: Headers): Body {
  if (/\bchunked$/i.test(headers.get('Transfer-Encoding') ?? '')) return readChunks(text);
  const length = headers.get('Content-Length');
  const body = length === null ? text : text.slice(0, Number(length));
  return { text: body, length: body.length };
}

function readChunks(text: string): Body {
  let body = '';
  for (let start = 0; ;) {
    const lineEnd = text.indexOf('\r\n', start);
    const size = Number.parseInt(text.slice(start, lineEnd), 16);
    if (lineEnd === -1 || !(size >= 0)) throw new Error(`No chunk in ${JSON.stringify(text)}`);
    const chunk = lineEnd + 2;
    if (size === 0) return { text: body, length: text.indexOf('\r\n\r\n', lineEnd) + 4 };
    body += text.slice(chunk, chunk + size);
    start = chunk + size + 2;
  }
}
