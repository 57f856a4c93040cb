/**
 * Socket activation: a listening socket, TCP or Unix, that the process inherits from its
 * supervisor, for example from a systemd socket unit. LISTEN_FDS is the number of sockets, the
 * first has the descriptor 3, and LISTEN_PID is the process that they are for (sd_listen_fds(3)).
 * The supervisor keeps the socket over restarts, and clients wait in its queue.
 */

import { quote } from '../base/quote.ts';

const FIRST_FD = 3;

/** Returns the socket's descriptor, or undefined without one. Throws an Error if there are more. */
export function readInheritedSocket(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): number | undefined {
  const { LISTEN_FDS: count, LISTEN_PID: reader } = env;
  // A child inherits the variables of another process by mistake, for example below npm.
  if (count === undefined || reader !== String(pid)) return undefined;
  if (count === '1') return FIRST_FD;
  throw new Error(`LISTEN_FDS must be 1, since one socket is served, not ${quote(count)}`);
}
