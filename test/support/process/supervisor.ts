/**
 * A small supervisor: it binds a socket once, and hands it to each process that it starts, as
 * systemd does with a socket unit. Between two of them clients wait in the socket's queue.
 */

import net from 'node:net';
import type { TestContext } from 'node:test';
import { end, KEY, SERVER_JS, startProgram, type Process } from './process.ts';

/** Node binds with this, and leaves to listen to others; a Server would take connections, too. */
interface Handle {
  readonly fd: number;
  /** TCP only. */
  getsockname(address: { port?: number }): number;
  close(): void;
}
const { _createServerHandle: bind } = net as unknown as {
  _createServerHandle(address: string, port: number, family: 4 | -1): Handle;
};

/** Without a path, on a TCP port that is free; else on a Unix socket. */
export function openSupervisor(t: TestContext, path?: string) {
  const handle = path === undefined ? bind('127.0.0.1', 0, 4) : bind(path, -1, -1);
  t.after(() => handle.close());
  const address: { port?: number } = {};
  if (path === undefined) handle.getsockname(address);
  return {
    /** 0 on a Unix socket. */
    port: address.port ?? 0,
    /** Starts the service on the socket, until the test ends at the latest. */
    start: (args: readonly string[], env?: Record<string, string>): Process =>
      startInheriting(t, handle.fd, args, env),
  };
}

/** Starts the service with a descriptor as its inherited socket. */
export function startInheriting(
  t: TestContext,
  fd: number,
  args: readonly string[],
  env: Record<string, string> = { PETSTORE_API_KEYS: KEY },
): Process {
  // Only the process itself knows its number before it is the service.
  const script = 'LISTEN_PID=$$ exec "$@"';
  const command = ['-c', script, 'sh', process.execPath, SERVER_JS, ...args];
  const service = startProgram('sh', command, { env: { LISTEN_FDS: '1', ...env }, socket: fd });
  t.after(() => end(service, 'SIGKILL'));
  return service;
}
