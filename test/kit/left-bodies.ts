/**
 * A front of a service that leaves the bodies of some requests on their connections, as a server
 * does that responds before it reads: the service takes them for the next request.
 */

import { connect, createServer, type Server } from 'node:net';

/** `isLeft` is called with the header of each request. */
export function leavingBodies(port: number, isLeft: (header: string) => boolean): Server {
  return createServer((client) => {
    const backend = connect(port, '127.0.0.1');
    backend.pipe(client);
    for (const socket of [client, backend]) socket.on('error', () => backend.destroy());
    client.on('close', () => backend.destroy());
    let [received, isBusy] = ['', false];
    const forward = (): void => {
      const end = endOf(received);
      if (end === undefined || isBusy) return;
      const isBodyLeft = isLeft(received.slice(0, end.header));
      const length = isBodyLeft ? end.header : end.body;
      if (received.length < length) return;
      const request = received.slice(0, length);
      received = received.slice(length);
      isBusy = true;
      const sent = isBodyLeft ? request.replace(LENGTH, '\r\nContent-Length: 0') : request;
      backend.write(sent, 'latin1');
    };
    client.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      forward();
    });
    // A response of the service comes in one piece, and the next request after it.
    backend.on('data', () => {
      isBusy = false;
      forward();
    });
  });
}

const LENGTH = /\r\n(?:content-length: *([0-9]+)|transfer-encoding: *chunked)/i;

/** Returns where the first request's header and body end, or undefined without a header. */
function endOf(text: string): { readonly header: number; readonly body: number } | undefined {
  const header = text.indexOf('\r\n\r\n') + 4;
  if (header < 4) return undefined;
  const [field, length] = LENGTH.exec(text.slice(0, header)) ?? [];
  if (field === undefined) return { header, body: header };
  if (length !== undefined) return { header, body: header + Number(length) };
  const last = text.indexOf('0\r\n\r\n', header);
  return { header, body: last < 0 ? Infinity : last + 5 };
}
