/**
 * A link to a member: a proxy that can be slow, hang or be cut. If each process has its own links,
 * one process can lose members that the others reach.
 */

import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from '../http/listen.ts';

/**
 * `open`; `hanging`: nothing gets through, and connections stay; `deaf`: requests get through, and
 * responses do not; `cut`: there is no connection.
 */
export type LinkState = 'open' | 'hanging' | 'deaf' | 'cut';

export type Link = Awaited<ReturnType<typeof startLink>>;

/** Starts a link to an endpoint; it is closed with the test. */
async function startLink(t: TestContext, target: string) {
  const { hostname, port } = new URL(target);
  /** How much longer a round trip takes than without the link. */
  const link = { delayMs: 0 };
  const sockets = new Set<Socket>();
  let state: LinkState = 'open';
  /** After something was kept from getting through, all that follows it is lost, too. */
  const pass = (from: Socket, to: Socket, barring: readonly LinkState[]): void => {
    let isBarred = false;
    from.on('data', (chunk) => {
      setTimeout(() => {
        isBarred ||= barring.includes(state);
        if (!isBarred) to.write(chunk);
      }, link.delayMs / 2);
    });
  };
  const server = createServer((client) => {
    if (state === 'cut') return void client.destroy();
    const member = connect(Number(port), hostname);
    for (const socket of [client, member]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        // The member gets what was sent before.
        member.end();
      });
    }
    pass(client, member, ['hanging']);
    pass(member, client, ['hanging', 'deaf']);
  });
  const reset = (): void => sockets.forEach((socket) => socket.destroy());
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  t.after(() => {
    server.close();
    reset();
  });
  return Object.assign(link, {
    endpoint,
    set(next: LinkState): void {
      state = next;
      if (state === 'cut') reset();
    },
  });
}

export function startLinks(t: TestContext, endpoints: readonly string[]) {
  return Promise.all(endpoints.map((endpoint) => startLink(t, endpoint)));
}
