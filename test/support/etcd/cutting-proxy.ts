/**
 * A proxy before a member that cuts connections: some requests are handed on, and their connection
 * is cut before the answer comes back; some are cut before they are handed on.
 */

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface CuttingProxy {
  readonly endpoint: string;
  /** Of a hundred requests, how many are cut behind the member, and before it. */
  behind: number;
  before: number;
  /** How many were cut so far. */
  readonly cuts: () => number;
  close(): void;
}

/** `random` gives numbers from 0 up to 100. */
export async function startCuttingProxy(
  endpoint: string,
  random: () => number,
): Promise<CuttingProxy> {
  const { hostname, port } = new URL(endpoint);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const member = connect(Number(port), hostname);
    for (const socket of [client, member]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        // What was handed on is to arrive.
        member.end();
      });
    }
    client.on('data', (chunk) => {
      // A request begins a chunk, as the client sends one after the other.
      const isTxn = chunk.subarray(0, 20).toString('latin1').startsWith('POST /v3/kv/txn');
      const lot = isTxn ? random() : 100;
      if (lot < proxy.before) {
        cuts += 1;
        client.destroy();
      } else if (lot < proxy.before + proxy.behind) {
        cuts += 1;
        member.write(chunk, () => setTimeout(() => client.destroy(), 20));
        member.pause();
      } else {
        member.write(chunk);
      }
    });
    member.on('data', (chunk) => client.write(chunk));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: CuttingProxy = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ behind: 0, before: 0 },
    cuts: () => cuts,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}
