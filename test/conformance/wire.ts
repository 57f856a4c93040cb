/** One connection, byte by byte, over TCP or TLS: for what fetch cannot say. */

import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type Bytes = string | Buffer;

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
      // A reset after an answer is how a server stops a client that goes on sending.
      const isReset = (error as NodeJS.ErrnoException).code !== undefined && received.length > 0;
      if (!isReset && !isLast) reject(error);
    });
    socket.on('close', () => resolve(Buffer.concat(received)));
  });
}
