/**
 * Closes connections that make no progress.
 *
 * node:http's own timeouts count bytes in both directions: a client that sends an empty line now
 * and then, but no request, would keep its connection open forever. Here progress counts: while a
 * response is due, bytes of it have to go out; otherwise a request has to come. For example, a
 * client that takes one byte of its response a minute stays, and one that takes none is closed
 * after a minute, whatever it sends. One on which nothing was sent is closed after
 * keepAliveTimeout, and any other without a request headersTimeout later. One pass per second
 * checks all connections.
 *
 * One connection in 32 is kept free. If more are in use, each pass and each new connection closes
 * as many, of the first of these kinds that there are; of the last two, of the one that has more.
 * An idle one has a second to close, since its last response may be on its way. The others have no
 * response to lose, or do not take it:
 *
 *     kind      a connection                              which of them
 *     unused    that had no response yet, or is closing   without progress for the longest time
 *     slow      whose client takes less than is sent      the one that takes the least
 *     starting  the same, how slow is not known; or new   without progress for the longest time
 *     idle      between two requests                      without progress for the longest time
 *
 * For example, 1,000 clients take 200 bytes of a response a second, another one takes 20 KB, and
 * ten connections of a pool are idle. A newcomer gets the place of one of the thousand. A response
 * that has not begun is not slow: its request may wait for the store. When the thousand have come
 * within a second, most are new. A new one is never closed, but none of the ten is, either.
 */

import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { responsesOf, type Latest } from '../../core/http/http-server.ts';
import type { Limits } from '../../core/http/limits.ts';
import { lingeringClose } from '../../core/http/lingering-close.ts';

/** Checks the connections of a server while it listens. */
export function closeStalledConnections(server: Server, limits: Limits): void {
  const { headersTimeout, maxConnections } = limits;
  // As in node:http, 0 is no limit.
  const timeout = limits.timeout || Infinity;
  const keepAliveTimeout = limits.keepAliveTimeout || Infinity;
  const responses = responsesOf(server);
  const progresses = new WeakMap<Socket, Progress>();
  const maxInUse = maxConnections - Math.ceil(maxConnections * SPARE);
  let fullUntil = 0;
  const makeRoom = (): void => {
    if (responses.size <= maxInUse || performance.now() < fullUntil) return;
    const kinds: Record<Kind, Candidate[]> = { unused: [], slow: [], starting: [], idle: [] };
    let excess = -maxInUse;
    for (const [socket, latest] of responses) {
      const progress = progresses.get(socket)!;
      const isLeaving = !socket.writable && performance.now() - progress.at <= MIN_IDLE_MS;
      if (isLeaving) continue;
      excess += 1;
      const candidate = candidateOf(socket, latest, progress);
      if (candidate !== undefined) kinds[candidate.kind].push(candidate);
    }
    const { unused, slow, starting, idle } = kinds;
    const last = starting.length > idle.length ? starting : idle;
    const inOrder = [unused, slow, last].flatMap((kind) =>
      kind.sort((a, b) => a.figure - b.figure),
    );
    if ((inOrder[0]?.figure ?? Infinity) === Infinity) fullUntil = performance.now() + FULL_MS;
    for (const { socket, kind, figure } of inOrder.slice(0, Math.max(0, excess))) {
      if (figure === Infinity) return;
      if (kind !== 'idle') {
        socket.destroy();
      } else {
        // From now on it is leaving.
        progresses.set(socket, { ...progresses.get(socket)!, at: performance.now() });
        lingeringClose(socket);
      }
    }
  };
  server.on('connection', (socket) => {
    const at = performance.now();
    progresses.set(socket, { isDue: false, sentBytes: 0, at, pace: undefined });
    makeRoom();
  });
  server.on('drop', makeRoom);
  // node:http's own timeout would count any byte.
  server.timeout = 0;
  const idleLimit = ({ bytesRead }: Socket): number =>
    bytesRead === 0 ? keepAliveTimeout : keepAliveTimeout + headersTimeout;
  const check = (): void => {
    const now = performance.now();
    for (const [socket, latest] of responses) {
      const progress = progresses.get(socket)!;
      // Until the response, and so all before it, has gone out.
      const isDue = typeof latest === 'object';
      const sentBytes = sentBytesOf(socket);
      const pace = paceOf(socket, sentBytes, progress);
      const isMoving = progress.isDue !== isDue || progress.sentBytes !== sentBytes;
      const at = isMoving ? now : progress.at;
      progresses.set(socket, { isDue, sentBytes, at, pace });
      if (now - at > (isDue ? timeout : idleLimit(socket)) && (isDue || !isGivenAway(socket))) {
        socket.destroy();
      }
      // A socket that is not read reports a reset only if it is written to.
      if (socket.isPaused() && socket.writable) socket.write('');
    }
    makeRoom();
  };
  server.on('listening', () => {
    const timer = setInterval(check, limits.connectionsCheckingInterval).unref();
    server.once('close', () => clearInterval(timer));
  });
}

/** The progress of a connection, as the last check saw it. */
interface Progress {
  readonly isDue: boolean;
  readonly sentBytes: number;
  /** When one of these two changed last, by performance.now(). */
  readonly at: number;
  /**
   * How many bytes the client of a slow connection takes between two checks. Infinity at the first
   * of them: until then the buffers of the kernel took all.
   */
  readonly pace: number | undefined;
}

type Kind = 'unused' | 'slow' | 'starting' | 'idle';

/** A connection that may be closed to make room: of a kind, the one with the least figure. */
interface Candidate {
  readonly socket: Socket;
  readonly kind: Kind;
  readonly figure: number;
}

/** The part of the connections that is kept free, so that a new one need not be refused. */
const SPARE = 1 / 32;
/** A connection that made progress a shorter time ago is not closed to make room. */
const MIN_IDLE_MS = 1000;
/** A pass that found nothing to close is not repeated so soon: a flood would cost one each time. */
const FULL_MS = 10;
/** How much the last second counts in a pace: a client that reads slowly takes in bursts. */
const LATEST = 1 / 8;

function paceOf(socket: Socket, sentBytes: number, before: Progress): number | undefined {
  const taken = sentBytes - before.sentBytes;
  if (socket.writableLength === 0) return undefined;
  if (before.pace === undefined) return Infinity;
  return before.pace === Infinity ? taken : before.pace + (taken - before.pace) * LATEST;
}

function candidateOf(
  socket: Socket,
  latest: Latest,
  { sentBytes, at, pace = Infinity }: Progress,
): Candidate | undefined {
  if (isGivenAway(socket)) return undefined;
  if (pace < Infinity) return { socket, kind: 'slow', figure: pace };
  if (socket.writableLength > 0) return { socket, kind: 'starting', figure: at };
  const isIdle = typeof latest !== 'object' && sentBytes === sentBytesOf(socket);
  const isUnused = latest === 'none' || !socket.writable;
  if (!isIdle || performance.now() - at <= MIN_IDLE_MS) {
    return isUnused ? { socket, kind: 'starting', figure: Infinity } : undefined;
  }
  return { socket, kind: isUnused ? 'unused' : 'idle', figure: at };
}

/**
 * Returns the bytes that the kernel has accepted: node:net still queues the rest of a long write.
 * How much that is has no documented name.
 */
function sentBytesOf(socket: Socket): number {
  const { _handle } = socket as typeof socket & { _handle?: { writeQueueSize?: number } | null };
  return socket.bytesWritten - (_handle?.writeQueueSize ?? 0);
}

/** Returns true if a listener for `upgrade` got the socket, without node:http's own listeners. */
function isGivenAway(socket: Socket): boolean {
  return socket.listenerCount('timeout') === 0;
}
