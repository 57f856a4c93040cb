/**
 * Slips in src/core/http, by the case that notices them: of the tables in request-queue.ts, of the
 * server, and of the way of a request.
 */

import { complaintsOf, testSlips, type Slips } from '../support/slips.ts';
import type { HTTP_CASES } from './cases.ts';

const QUEUE = 'core/http/request-queue.js';
const HOLD = 'core/http/hold-socket.js';
const SERVER = 'core/http/http-server.js';
const LINGER = 'core/http/lingering-close.js';
const LISTENER = 'core/http/handle-request.js';
const FIELDS = 'core/http/fields.js';
const AUTHENTICATION = 'core/http/authentication.js';
const BODY = 'core/http/request-body.js';
const ROUTER = 'core/http/router.js';
const RESPONSE = 'core/http/http-response.js';

const SLIPS: Slips<keyof typeof HTTP_CASES> = {
  'Requests that come together are served one after the other': [
    [QUEUE, 'connection.state = state;', ''],
    [SERVER, 'gate.sent(socket);', ''],
  ],
  'A request that comes while others wait is served after them': [
    [QUEUE, 'state.waiting.shift()', 'state.waiting.pop()'],
  ],
  'Bodies of 300 KB between other requests arrive whole': [
    [QUEUE, 'state.waiting.push(turn);', ''],
  ],
  'While a request waits, its connection is not read, and after that it is': [
    [QUEUE, "connection.state = { name: 'idle'", "void { name: 'idle'"],
    [QUEUE, 'state.waiting.push(turn);\n            hold(socket);', 'state.waiting.push(turn);'],
    [QUEUE, 'socket.resume();', ';'],
  ],
  'A connection that node:http resumes while a request waits is not read': [
    [QUEUE, 'holdWhile(socket, () => isHeld(connection.state));', ''],
  ],
  'A connection that is resumed and paused in one tick is not read': [
    [HOLD, 'if (wasPaused)', 'if (false)'],
  ],
  'Behind a last response that is held nothing is served': [
    [QUEUE, 'if (!socket.writable)\n', 'if (false)\n'],
  ],
  'An error behind a request in progress gets its response after it': [
    [QUEUE, 'state.writeLast();', ''],
    [
      QUEUE,
      'if (latest.complete || waiting.length > 0) {',
      'if (latest.complete) {\n            write(undefined);\n        }\n        else if (waiting.length > 0) {',
    ],
  ],
  'After an error nothing is read or served, and no second error gets a response': [
    [QUEUE, 'hold(connection.socket);', ''],
    [QUEUE, "state.name === 'closing' || state.name === 'ended' || !socket.writable", 'false'],
  ],
  'An error in the body of a request that waits is its response, in its turn': [
    [QUEUE, 'waiting.pop();', ';'],
  ],
  'An error in the body of a HEAD that waits is its response, without content': [
    [QUEUE, 'write(latest.complete ? undefined : latest)', 'write(undefined)'],
  ],
  'An error in the body of a request in progress is its response': [
    [QUEUE, 'if (response.headersSent)', 'if (true)'],
  ],
  'An error in the body of a HEAD is its response, without content': [
    [QUEUE, 'write(latest);', 'write(undefined);'],
  ],
  'An error in the body of a request whose response has begun is no response': [
    [QUEUE, "response.once('finish', () => lingeringClose(socket));", ';'],
  ],
  'An error in the body of a request whose response has gone out is no response': [
    [QUEUE, 'state.latest?.complete === false', 'false'],
    [QUEUE, 'request.complete ? undefined : request', 'undefined'],
  ],
  'A client that half-closes gets all its responses': [
    [SERVER, 'httpAllowHalfOpen: true', 'httpAllowHalfOpen: false'],
  ],
  'What follows a last response is read and discarded, also after CONNECT': [
    [SERVER, 'return void socket.resume();', 'return;'],
  ],
  'A timeout of a connection that is not read is ignored': [
    [QUEUE, 'error?.code === REQUEST_TIMEOUT && isHeld(state)', 'false'],
  ],
  'The server has the limits of time and connections, and checks them every second': [
    [SERVER, '...LIMITS,', ''],
    [SERVER, 'server.maxHeadersCount = MAX_FIELDS + 1;', ''],
    [SERVER, 'Math.min(allLimits.timeout, LONGEST_TIMER_MS)', 'allLimits.timeout'],
  ],
  'A last response arrives whole, although its client sends megabytes more': [
    [SERVER, 'socket.destroySoon = () => lingeringClose(socket);', ''],
  ],
  'Each error of node:http gets an Error body with its code': [
    [SERVER, "server.on('clientError'", "server.on('clientErrors'"],
    [SERVER, "server.on('connect'", "server.on('connects'"],
  ],
  'The open connections of a server are known': [
    [SERVER, "responses.set(socket, 'sent');", ';'],
    [SERVER, "socket.once('close', () => responses.delete(socket));", ''],
  ],
  'After a last response the parser gets nothing': [
    [LINGER, ".removeAllListeners('data').on('data', discard)", ".on('data', discard)"],
  ],
  'A lingering close discards 8 MiB, and ends after 2 s without a byte, or after 20 s': [
    [LINGER, 'if (discardedBytes >= MAX_DISCARDED_BYTES)', 'if (false)'],
    [LINGER, ' || seconds === MAX_LINGER_S', ''],
  ],
  'A header of 255 fields is served, and one of more is 431, whatever follows': [
    [FIELDS, 'checkNumber(request.rawHeaders);', ''],
    [SERVER, 'MAX_FIELDS + 1', 'MAX_FIELDS - 31'],
  ],
  'A trailer of 255 fields is read, and one of more ends the connection, before a response with 431':
    [
      [BODY, 'checkNumber(request.rawTrailers);', ''],
      [LISTENER, 'areTooMany(rawTrailers) || ', ''],
    ],
  'A handler gets the parameter, the query, the key and header fields': [
    [LISTENER, 'findRoute(normalized)', 'findRoute(path)'],
  ],
  'A key with a right opens what asks for it and nothing else, a key without one everything': [
    [AUTHENTICATION, 'key.right === undefined || key.right === right', 'true'],
    [AUTHENTICATION, ' || key.right === right', ''],
  ],
  'OPTIONS names the methods of a path, and OPTIONS * those of all operations': [
    [ROUTER, "if (method === 'GET')", 'if (false)'],
  ],
  'A policy may respond before authentication, and adds header fields to every response': [
    [LISTENER, 'if (httpResponse !== undefined)', 'if (false)'],
    [LISTENER, 'headers.push(...policy.headersFor(request, httpResponse));', ';'],
  ],
  'An error of a handler is sent if it is an HttpError or documented, else it is a 500': [
    [LISTENER, "'The service failed to respond'", 'String(error)'],
    [LISTENER, 'options.onFailure(error, exchange);', ''],
  ],
  'If a report or a policy fails, that is reported, and what has not begun is closed': [
    [LISTENER, 'if (response.headersSent)\n            return;', ''],
    [LISTENER, 'response.destroy();', ';'],
  ],
  'Each response is reported, with the name of its key': [
    [LISTENER, 'exchange.keyName = apiKey.name;', ''],
  ],
  'What the header alone refuses is refused before the parser rejects the body': [
    [LISTENER, 'await answer(exchange)', 'await Promise.resolve().then(() => answer(exchange))'],
  ],
  'A body that no operation asked for is discarded if it is short, or else ends the connection': [
    [LISTENER, ' || Number(length) > limitBytes', ''],
  ],
  'Whether a connection stays depends on Content-Length and what was read, not on how bytes come': [
    [LISTENER, 'status >= 400 || length === undefined', 'length === undefined'],
    [LISTENER, 'if (isRead || ', 'if ('],
    [BODY, 'if (end > limitBytes)', 'if (false)'],
    [BODY, "Number(fieldOf(request, 'content-length') ?? 0) > limitBytes", 'false'],
    [LISTENER, 'request.readableEnded && ', 'request.complete && '],
    [LISTENER, ' && status !== 413', ''],
  ],
  'A handler gets the body, announced or in chunks, or none': [
    [BODY, 'chunk.copy(bytes, length);', 'bytes = chunk;'],
  ],
  'A client that expects 100 gets it when the body is wanted, and not before': [
    [SERVER, "['request', 'checkContinue', 'checkExpectation']", "['request']"],
    [SERVER, 'continueWhenRead(request, response);', ''],
    [
      LISTENER,
      'checkExpect(request);',
      "checkExpect(request);\n        if (fieldOf(request, 'expect'))\n            response.writeContinue();",
    ],
  ],
  'During a stop, and after Upgrade or a Connection in the trailer, a response is the last': [
    [LISTENER, 'options.isStopping() || ', ''],
    [LISTENER, 'rawTrailers.some(isConnection)', 'false'],
  ],
  'A long body is sent in pieces, as its client reads, also after CONNECT and nonsense': [
    [RESPONSE, '=== false', '=== null'],
    [SERVER, "latest.emit('drain')", 'undefined'],
  ],
  'A client that goes away in the middle of a body is not reported': [
    [LISTENER, 'if (!(error instanceof ClientGoneError))', 'if (true)'],
  ],
};

type Cases = typeof import('./cases.ts');

testSlips(SLIPS, 'http/cases.js', (loaded: Cases, name, t) =>
  complaintsOf(() => loaded.HTTP_CASES[name](t)),
);
