/** A bystander: a client that asks again and again, and notes how long it had to wait. */

import { connectWire } from './wire.ts';

export interface Bystander {
  /** Ends it, and tells what it saw. Rejects when one of its requests was not answered 200. */
  stop(): Promise<{ readonly asked: number; readonly longestMs: number }>;
}

/** Asks for /livez on one connection, with a pause of 5 ms, until it is stopped. */
export async function startBystander(port: number): Promise<Bystander> {
  const connection = await connectWire(port);
  let isStopped = false;
  let asked = 0;
  let longestMs = 0;
  const ask = async (): Promise<void> => {
    while (!isStopped) {
      const startedAt = performance.now();
      const { status } = await connection.send('GET', '/livez');
      if (status !== 200) throw new Error(`The bystander got ${status}`);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
      asked += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const asking = ask();
  // `stop` reports it.
  asking.catch(() => undefined);
  return {
    async stop() {
      isStopped = true;
      await asking.finally(() => connection.close());
      return { asked, longestMs };
    },
  };
}
