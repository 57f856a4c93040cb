/**
 * The server for the open network, without a proxy: the core's server, with three things that only
 * clients without manners need. Connections that wait take turns (turns.ts); those that make no
 * progress are closed, and if nearly all are in use, also others, to make room for new ones
 * (stalled-connections.ts).
 *
 * Turns need a parser that stops. If that of the Node that runs does not, the core's queue is the
 * gate instead, which bounds a client less strictly.
 */

import type { Server } from 'node:http';
import { silentLogger, type Logger } from '../../core/base/logger.ts';
import type { Listener } from '../../core/http/handle-request.ts';
import { createPlainServer } from '../../core/http/http-server.ts';
import { LIMITS, type Limits } from '../../core/http/limits.ts';
import { RequestQueue } from '../../core/http/request-queue.ts';
import { parserStops } from './parser.ts';
import { closeStalledConnections } from './stalled-connections.ts';
import { Turns } from './turns.ts';

/**
 * Returns a server with limits for the open network; `limits` replace single ones. Throws like
 * createPlainServer.
 */
export function createHttpServer(
  listener: Listener,
  limits: Partial<Limits> = {},
  logger: Logger = silentLogger,
): Server {
  const allLimits = { ...LIMITS, ...limits };
  const queue = new RequestQueue();
  const canStop = parserStops();
  if (!canStop) {
    logger('warn', 'The parser of this Node.js does not stop, so pipelined requests are queued');
  }
  const turns = new Turns(queue, allLimits.headersTimeout / 2);
  const server = createPlainServer(listener, allLimits, canStop ? turns : queue);
  closeStalledConnections(server, allLimits);
  return server;
}
