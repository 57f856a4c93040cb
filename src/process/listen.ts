/**
 * The listening socket: an address and a port, or a socket that the process inherits by socket
 * activation (sd_listen_fds(3)), for example from a systemd socket unit. The supervisor keeps that
 * socket over restarts: meanwhile clients wait in its queue.
 */

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FailureReport } from '../core/base/failure-report.ts';
import { messageOf, type Logger } from '../core/base/logger.ts';
import { quote } from '../core/base/quote.ts';
import type { Environment } from './command-line.ts';
import type { Config } from './config.ts';

/** The descriptor of the socket that a supervisor passes on, TCP or Unix. */
const INHERITED_FD = 3;

/**
 * The backlog of an inherited socket: how many connections may wait while the next process starts.
 * Linux limits it to the same number by default.
 */
const INHERITED_BACKLOG = 4096;

/** A mistake in the configuration that only the system finds. */
export class ConfigurationError extends Error {}

/** Returns true if this process inherits a socket. Throws if it inherits several. */
export function inheritsSocket(env: Environment, pid: number): boolean {
  const { LISTEN_FDS: sockets, LISTEN_PID: reader } = env;
  // A child below npm, for example, has the variables of another process.
  if (sockets === undefined || reader !== String(pid)) return false;
  if (sockets === '1') return true;
  const sentence = 'must be 1, since one socket is served';
  throw new ConfigurationError(`LISTEN_FDS ${sentence}, not ${quote(sockets)}`);
}

/** Listens. Resolves with the URL, or undefined for a Unix socket, which has no URL. */
export async function listen(
  server: Server,
  { host, hostName, port }: Pick<Config, 'host' | 'hostName' | 'port'>,
  isInherited: boolean,
  logger: Logger,
): Promise<string | undefined> {
  if (isInherited) server.listen({ fd: INHERITED_FD }, INHERITED_BACKLOG);
  else server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // conda and tcsh set HOST to a name of their own. An address may come later, but not a name.
    if (code === 'ENOTFOUND') {
      const sentence = `must be an address or a name of this machine, not ${quote(host)}`;
      throw new ConfigurationError(`${hostName} ${sentence}: ${messageOf(error)}`);
    }
    const isInUse = code === 'EADDRINUSE';
    const socket = isInherited ? 'the inherited socket' : `${host} (${hostName}), port ${port}`;
    const advice = isInherited ? '' : ': stop what uses it, or choose another one (PORT or --port)';
    const cause = isInUse ? `the port is in use${advice}` : messageOf(error);
    throw new Error(`Cannot listen on ${socket}: ${cause}`);
  }
  // From here on an error is a failed accept, for example ENOBUFS. The next one may succeed, so it
  // must not end the process.
  const began = 'Cannot accept a connection';
  const accepts = new FailureReport(logger, performance, began, 'Accepts connections again');
  server.on('error', (error) => accepts.record(messageOf(error)));
  server.on('connection', () => accepts.clear());
  // For a Unix socket, the address is a string, or null if the socket is inherited.
  const bound = server.address() as AddressInfo | string | null;
  if (typeof bound !== 'object' || bound === null) return undefined;
  const { address, family } = bound;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound.port}`;
}
