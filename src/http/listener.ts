/**
 * The listener: takes one request from node:http to its response.
 *
 * `decide` looks at the header, and returns a response or the call of an operation. `respond` sends
 * responses. An operation whose response is known at once returns it; only for the others is there
 * a promise to wait for.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createDecide, type Call } from './decide.ts';
import { failureResponse, type Exchange, type ListenerOptions } from './exchange.ts';
import { ClientGoneError } from './request-body.ts';
import { announcesBody, readHeaders } from './request-headers.ts';
import type { RequestFacts } from './request-record.ts';
import { respond } from './respond.ts';

export interface Listener {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Header fields of the error for a request that the parser rejects; by its origin, if known. */
  clientErrorHeaders?(origin: string | undefined): readonly string[];
}

export function createListener(options: ListenerOptions): Listener {
  const decide = createDecide(options);
  const listener: Listener = (request, response) => {
    const headers = readHeaders(request.rawHeaders);
    if (!announcesBody(headers)) skipEmptyBody(request);
    const startedAt = performance.now();
    const requestId = options.identify?.(request) ?? '';
    const exchange = { options, request, response, headers, startedAt, requestId };
    const decision = decide(exchange);
    // The parser may reject the body next, so what the header decides goes out at once.
    if (decision.kind === 'call') call(exchange, decision);
    else respond(exchange, decision.facts, decision.apiResponse);
  };
  const { cors } = options;
  if (cors !== undefined) listener.clientErrorHeaders = (origin) => cors.headersFor(origin);
  return listener;
}

function call(exchange: Exchange, { facts, operation, apiRequest }: Call): void {
  try {
    const handled = operation.handle(apiRequest);
    if (!(handled instanceof Promise)) return respond(exchange, facts, handled);
    handled
      .then((apiResponse) => respond(exchange, facts, apiResponse))
      .catch((error: unknown) => fail(exchange, facts, error));
  } catch (error) {
    fail(exchange, facts, error);
  }
}

function fail(exchange: Exchange, facts: RequestFacts, error: unknown): void {
  if (error instanceof ClientGoneError) return;
  respond(exchange, facts, failureResponse(exchange, facts.path, error));
}

/**
 * node:http discards the body of a request that nobody read, by taking its stream through its whole
 * life. A request without a body has nothing to discard. Measured on Node 20, that saves a tenth of
 * a short request; Node 24 and later do the same by themselves (optimizeEmptyRequests).
 */
function skipEmptyBody(request: IncomingMessage): void {
  if (!request.complete) request.read(0);
}
