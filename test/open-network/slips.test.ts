/** Slips in src/extras/open-network, by the case that notices them. */

import { complaintsOf, testSlips, type Slips } from '../support/slips.ts';
import type { OPEN_NETWORK_CASES } from './cases.ts';

const TURNS = 'extras/open-network/turns.js';
const PARSER = 'extras/open-network/parser.js';
const STALLED = 'extras/open-network/stalled-connections.js';

const SLIPS: Slips<keyof typeof OPEN_NETWORK_CASES> = {
  'reading → waiting: the request behind one in progress is parsed, the rest stays bytes': [
    [TURNS, "!isBusy && (state.name === 'parsing'", "(state.name === 'parsing'"],
    [PARSER, 'upgrade !== true && mustStop(request) ? HPE_PAUSED : result', 'result'],
  ],
  'reading → waiting: behind a last response one request is parsed, and none served': [
    [TURNS, '|| !socket.writable)', ')'],
  ],
  'reading → waiting: a connection is served once in an iteration, and then takes turns': [
    [TURNS, "state.name === 'parsing' || servedIn !== this.#iteration", 'true'],
    [TURNS, 'this.#servedFromLine < count && ', ''],
    [TURNS, ' && performance.now() - this.#iterationAt < ms', ''],
    [
      TURNS,
      'this.#iterationAt = performance.now();\n            this.#serveLine();',
      'this.#iterationAt = performance.now();',
    ],
  ],
  'waiting → reading: what was read meanwhile is parsed, wherever a read was cut': [
    [TURNS, "if (state.name === 'waiting')\n                state.unparsed = unparsed;", ''],
  ],
  'The parser of this Node stops, and the log says nothing': [
    [PARSER, 'parserOf(socket)?.resume();', ''],
  ],
  'waiting → reading: in its turn a connection is read, although nobody reads the body': [
    [TURNS, 'if (!isHeld(connection.state))\n            socket.resume();', ''],
  ],
  'waiting → kept → parsing → kept: behind a request that was served in its turn all stays bytes, but its body':
    [
      [TURNS, "connection.state.name === 'parsing' && !announcesBody(request)", 'false'],
      [TURNS, ' && !announcesBody(request)', ''],
      [TURNS, 'if (announcesBody(turn.request))', 'if (true)'],
      [TURNS, 'if (announcesBody(turn.request))', 'if (false)'],
      [TURNS, 'parseOn(socket, NO_BYTES);', ''],
      [TURNS, 'unparsed.length === 0', 'false'],
      [TURNS, 'if (!socket.isPaused())\n            hold(socket);', ''],
      [TURNS, 'if (isHeld(connection.state))\n            this.#lineUp(connection);', ''],
    ],
  'waiting → reading: connections are served in the order of waiting, one request of each': [
    [TURNS, 'this.#line.shift()', 'this.#line.pop()'],
  ],
  'A request is late only some time after the service began to read its connection': [
    [TURNS, 'error?.code === REQUEST_TIMEOUT && !isRead', 'false'],
    [TURNS, 'error?.code === REQUEST_TIMEOUT && !isRead', 'error?.code === REQUEST_TIMEOUT'],
  ],
  'A connection that does not take its response is closed after a minute': [
    [STALLED, 'socket.bytesWritten - (_handle?.writeQueueSize ?? 0)', 'socket.bytesWritten'],
  ],
  'A connection that takes a byte every minute stays': [
    [STALLED, ' || progress.sentBytes !== sentBytes;', ';'],
  ],
  'A request in time begins a new time, and so does the end of its response': [
    [STALLED, 'progress.isDue !== isDue || ', ''],
  ],
  'A connection on which no request comes is closed after 76 s, or 66 s if nothing was sent': [
    [STALLED, 'isDue ? timeout : idleLimit(socket)', 'timeout'],
  ],
  'A connection that another program has taken stays': [
    [STALLED, ' && (isDue || !isGivenAway(socket))', ''],
  ],
  'A connection that is not read is written to, which shows a reset': [
    [STALLED, "socket.write('')", 'undefined'],
  ],
  'If all are taken but a part, an unused one goes first, that without progress for the longest time':
    [
      [STALLED, 'maxConnections - Math.ceil(maxConnections * SPARE)', 'maxConnections'],
      [STALLED, 'a.figure - b.figure', 'b.figure - a.figure'],
      [STALLED, "typeof latest !== 'object' && sentBytes", 'sentBytes'],
      [STALLED, 'if (isGivenAway(socket))', 'if (false)'],
      [STALLED, 'sentBytes === sentBytesOf(socket)', 'true'],
      [STALLED, "isUnused ? 'unused' : 'idle'", "'idle'"],
      [STALLED, "latest === 'none' || !socket.writable", "latest === 'none'"],
      [STALLED, '{ ...progresses.get(socket), at: performance.now() }', 'progresses.get(socket)'],
      [STALLED, 'if (isLeaving)', 'if (false)'],
    ],
  'After connections that came together, the check frees places, one of each 32 and at least one': [
    [STALLED, '}\n        makeRoom();\n    };', '}\n    };'],
    [STALLED, 'Math.ceil(maxConnections * SPARE)', 'Math.floor(maxConnections * SPARE)'],
    [STALLED, "kind !== 'idle'", 'false'],
  ],
  'If all are taken but a part, the slowest reader goes before an idle connection': [
    [STALLED, 'if (pace < Infinity)', 'if (false)'],
    [STALLED, '[unused, slow, last]', '[unused, last, slow]'],
    [STALLED, 'if (before.pace === undefined)\n        return Infinity;', ''],
    [STALLED, 'before.pace + (taken - before.pace) * LATEST', 'taken'],
    [STALLED, 'if (socket.writableLength === 0)', 'if (false)'],
  ],
  'If it is not known how slow readers are, one of them goes if there are more than idle ones': [
    [STALLED, 'starting.length > idle.length', 'false'],
    [STALLED, 'starting.length > idle.length', 'true'],
    [STALLED, "kind: 'starting', figure: at", "kind: 'starting', figure: -at"],
  ],
  'If most connections are new, an idle one stays': [
    [STALLED, "isUnused ? { socket, kind: 'starting', figure: Infinity } : undefined", 'undefined'],
    [STALLED, 'if (figure === Infinity)', 'if (false)'],
  ],
  // Noticed by a case of every gate.
  'While a request waits, its connection is not read, and after that it is': [
    [TURNS, 'hold(socket);\n        if (!isBusy)', 'if (!isBusy)'],
  ],
  'A connection on which a request waits again is not read': [
    [TURNS, 'holdWhile(socket, () => isHeld(connection.state) && socket.writable);', ''],
  ],
  'A request to upgrade that waits gets its response in its turn': [
    [PARSER, 'upgrade !== true && mustStop(request)', 'mustStop(request)'],
  ],
  'What follows a last response is read and discarded, also after CONNECT': [
    [TURNS, 'isHeld(connection.state) && socket.writable);', 'isHeld(connection.state));'],
  ],
  'An error behind requests that wait gets its response after them': [
    [TURNS, 'this.#queue.last(socket, error, write);', ''],
  ],
};

type Cases = typeof import('./cases.ts');

/** How often a case is tried: on a busy machine a connection may be read late. */
const TRIES = 5;

testSlips(SLIPS, 'open-network/cases.js', (loaded: Cases, name, t) =>
  complaintsOf(async () => {
    for (let tries = 0; tries < TRIES; tries += 1) await loaded.OPEN_NETWORK_CASES[name](t);
  }),
);
