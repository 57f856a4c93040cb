/**
 * What the listener does with a request, row by row of the way in handle-request.ts: cases on a
 * small API of doors, which has nothing to do with pets.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createListener, type Exchange, type Policy } from '../../src/core/http/handle-request.ts';
import { HttpError } from '../../src/core/http/http-error.ts';
import { textResponse } from '../../src/core/http/http-response.ts';
import { createPlainServer } from '../../src/core/http/http-server.ts';
import type { Operation } from '../../src/core/http/operation.ts';
import { CHUNKED, EXPECT } from '../support/http/requests.ts';
import { openBench, opening } from './gate-bench.ts';

const KEYS = [
  { digest: 'of owner-key', name: 'owner', right: undefined },
  { digest: 'of meter-key', name: 'meter', right: 'figures' },
];
const BODY_LIMIT_BYTES = 100;
/** More than the buffers of a connection hold. */
const LONG = 'x'.repeat(9_000_000);

type Doors = Awaited<ReturnType<typeof openDoors>>;

/** Serves the API of doors. */
async function openDoors(t: TestContext) {
  const text = (body: string) => textResponse(200, 'text/plain', body);
  const operation = (
    line: `${Operation['method']} ${string}`,
    needsKey: Operation['needsKey'],
    handle: Operation['handle'],
  ): Operation => {
    const [method, path] = line.split(' ') as [Operation['method'], string];
    return { name: line, method, path, needsKey, handle };
  };
  const operations = [
    operation('GET /v1/doors', true, async ({ query, header }) =>
      text(`${query} ${header('x-a') ?? 'no X-A'}`),
    ),
    operation('POST /v1/doors', true, async ({ header, readBody }) => {
      // Until then all of a short body has arrived, and nobody has read it.
      if (header('x-refuse') === 'late' || header('x-read') === 'late') await nextTurn();
      if (/^(?:before|late)$/.test(header('x-refuse') ?? ''))
        throw new HttpError(415, 'refused', 'Refused');
      const body = String(await readBody());
      if (header('x-refuse') === 'after') throw new HttpError(400, 'refused', 'Refused');
      return text(body);
    }),
    operation('DELETE /v1/doors/{door}', true, async ({ pathParameter, keyDigest }) =>
      text(`${pathParameter} ${keyDigest}`),
    ),
    operation('GET /v1/locked', true, async () => {
      throw new HttpError(409, 'door_locked', 'The door is locked', ['Retry-After', '60']);
    }),
    operation('GET /v1/late', true, () => Promise.reject(new RangeError('Too late'))),
    operation('GET /v1/torn', true, async () => textResponse(200, 'a/b', '', ['X-A', 'a\nb'])),
    operation('GET /v1/bug', true, () => Promise.reject(new Error('A deliberate bug'))),
    operation('GET /figures', 'figures', async () => text('figures')),
    operation('GET /open', false, async () => text('open')),
    operation('GET /long', false, async () => text(LONG)),
  ];
  const policy: Policy = {
    responseFor: ({ headers }) => (headers['x-early'] === undefined ? undefined : text('early')),
    headersFor({ headers }, { status }) {
      if (headers['x-throw'] === 'policy') throw new Error('No policy');
      return ['X-Policy', String(status)];
    },
  };
  const exchanges: Exchange[] = [];
  const failures: (readonly [error: unknown, path: string])[] = [];
  let isStopping = false;
  const listener = createListener({
    ...{ operations, prefix: '/inn', protectedPath: '/v1', bodyLimitBytes: BODY_LIMIT_BYTES },
    apiKeys: {
      find: (token) => KEYS.find(({ digest }) => digest === `of ${token}`),
      realm: 'doors',
    },
    policies: [policy],
    hintFor: (path, { method }) => ` (${path}, ${method})`,
    isStopping: () => isStopping,
    fromOperationError: (error) =>
      error instanceof RangeError ? new HttpError(503, 'late', error.message) : undefined,
    onFailure: (error: unknown, { path }: Exchange) => failures.push([error, path]),
    onResponse(exchange) {
      exchanges.push(exchange);
      if (exchange.request.headers['x-throw'] === 'report') throw new Error('No report');
    },
  });
  const bench = await openBench(t, () => createPlainServer(listener));
  return {
    ...{ ...bench, exchanges, failures },
    stop: (): void => void (isStopping = true),
    /** Sends bytes. Resolves with what has come, and closes the connection. */
    async exchange(bytes: string): Promise<string> {
      const client = await bench.open(bytes);
      const [text, isClosed] = [client.text(), client.isClosed()];
      client.close();
      return isClosed ? `${text}<closed>` : text;
    },
  };
}

/** A request with the key of the owner, unless the fields have another Authorization. */
function ask(line: string, fields: readonly string[] = [], body = ''): string {
  const key = fields.some((field) => field.startsWith('Authorization')) ? [] : [OWNER];
  const length = body === '' || fields.includes(CHUNKED) ? [] : [`Content-Length: ${body.length}`];
  const all = ['Host: a', ...key, ...fields, ...length];
  return `${line.replace(' /', ' /inn/')} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`;
}

const OWNER = 'Authorization: Bearer owner-key';
const METER = 'Authorization: bearer \t meter-key ';
const NO_KEY = 'Authorization: Basic x';
const CLOSE = '\r\nConnection: close\r\n';

/** With a host and a key, a header of 255 fields. */
const MANY: readonly string[] = Array<string>(253).fill('a:');

/** A request with a body of one byte, and with so many fields in its trailer. */
function trailed(line: string, fields: number): string {
  return ask(line, [CHUNKED], `1\r\na\r\n0\r\n${'a:\r\n'.repeat(fields)}\r\n`);
}

type DoorsCase = (doors: Doors) => Promise<void>;

/** Sends each request on a connection of its own, and looks for each text in what comes. */
function sees(
  ...rows: readonly (readonly [bytes: string, ...parts: readonly string[]])[]
): DoorsCase {
  return async (doors) => {
    for (const [bytes, ...parts] of rows) {
      const seen = await doors.exchange(bytes);
      const shown = `${bytes.slice(0, 300)} → ${seen.slice(0, 600)}`;
      for (const part of parts) assert.ok(seen.includes(part), `No ${part} in ${shown}`);
      assert.equal(seen.split('HTTP/1.1 ').length, 2, `One response: ${shown}`);
    }
  };
}

const CASES = {
  'A header of 255 fields is served, and one of more is 431, whatever follows': sees(
    [ask('GET /open', MANY), ' 200 '],
    [ask('GET /open', [...MANY, 'a:']), ' 431 ', '"headers_too_large"', '255', CLOSE, '<closed>'],
    // The fields at its end are those that node:http has dropped.
    [ask('GET /open', [...MANY, ...MANY, 'Host: b']), ' 431 ', CLOSE],
    [ask('GET /open', [...MANY, ...MANY], 'a') + ask('GET /open'), ' 431 ', CLOSE],
    [
      ask('POST /v1/doors', [...MANY, ...MANY, CHUNKED], '1\r\na\r\n0\r\n\r\n') + ask('GET /open'),
      ...[' 431 ', CLOSE],
    ],
    [ask('POST /v1/doors', [...MANY, ...MANY, EXPECT, 'Content-Length: 1']), ' 431 ', CLOSE],
    [ask('GET /none', [...MANY, 'a:', NO_KEY]), ' 431 ', CLOSE],
    // Its Content-Length is dropped, and the client sends all before it reads.
    [ask('POST /v1/doors', [...MANY, ...MANY], 'x'.repeat(5_000_000)), ' 431 ', CLOSE],
  ),
  'A trailer of 255 fields is read, and one of more ends the connection, before a response with 431':
    sees(
      [trailed('POST /v1/doors', MANY.length + 2), ' 200 ', '\r\n\r\na'],
      [trailed('POST /v1/doors', MANY.length + 3) + ask('GET /open'), ' 431 ', CLOSE, '<closed>'],
      [trailed('POST /v1/doors', 1000) + ask('GET /open'), ' 431 ', CLOSE, '<closed>'],
      [trailed('GET /open', 1000) + ask('GET /open'), ' 200 ', CLOSE, '<closed>'],
    ),
  'A key with a right opens what asks for it and nothing else, a key without one everything': sees(
    [ask('GET /figures', [METER]), ' 200 '],
    [ask('GET /figures'), ' 200 '],
    [ask('GET /v1/doors', [METER]), ' 401 ', 'error="invalid_token"', 'key is not valid'],
    [ask('GET /v1/none', [METER]), ' 401 '],
    [ask('GET /figures', [NO_KEY]), ' 401 '],
    [ask('GET /open', [NO_KEY]), ' 200 '],
  ),
  'A handler gets the parameter, the query, the key and header fields': sees(
    [ask('DELETE /v1/doors/a%2Fb'), ' 200 ', '\r\n\r\na/b of owner-key'],
    [ask('GET /v1/doors?x=%20', ['X-a: 1', 'x-A: 2']), '\r\n\r\nx=%20 1, 2'],
    [ask('GET /v1/d%6Fors?'), '\r\n\r\n no X-A'],
    [ask(`DELETE /v1/d%6Fors/${'a'.repeat(4000)}`), ' 200 ', 'aaaa of owner-key'],
    [ask('GET /v1/doors%2F1'), ' 404 '],
  ),
  'OPTIONS names the methods of a path, and OPTIONS * those of all operations': sees(
    [ask('OPTIONS /v1/doors/1'), ' 204 ', 'Allow: DELETE, OPTIONS\r\n'],
    [ask('OPTIONS /v1/doors'), ' 204 ', 'Allow: GET, HEAD, POST, OPTIONS\r\n'],
    [ask('OPTIONS *', [NO_KEY]), ' 204 ', 'Allow: GET, HEAD, POST, DELETE, OPTIONS\r\n'],
  ),
  'An error of a handler is sent if it is an HttpError or documented, else it is a 500': async (
    doors,
  ) => {
    await sees(
      [
        ask('GET /v1/locked'),
        ' 409 ',
        'Retry-After: 60\r\n',
        '{"code":"door_locked","message":"The door is locked","status":409}',
      ],
      [ask('GET /v1/late'), ' 503 ', '"late"'],
    )(doors);
    assert.equal(doors.failures.length, 0);
    const seen = await doors.exchange(ask('GET /v1/bug'));
    assert.match(seen, / 500 [^]*"internal_error"/);
    assert.doesNotMatch(seen, /deliberate/);
    const [error, path] = doors.failures[0]!;
    assert.deepEqual([(error as Error).message, path], ['A deliberate bug', '/inn/v1/bug']);
  },
  'A policy may respond before authentication, and adds header fields to every response': sees(
    [ask('GET /v1/none', [NO_KEY, 'X-Early: 1']), ' 200 ', 'X-Policy: 200\r\n', '\r\n\r\nearly'],
    [ask('GET /v1/none', [NO_KEY]), ' 401 ', 'X-Policy: 401\r\n'],
    [ask('GET /v1/doors', ['Host: b', 'X-Early: 1']), ' 400 ', 'X-Policy: 400\r\n'],
    [ask('OPTIONS *', ['X-Early: 1']), ' 204 ', 'X-Policy: 204\r\n'],
  ),
  'If a report or a policy fails, that is reported, and what has not begun is closed': async (
    doors,
  ) => {
    for (const [line, what, seen, failures] of [
      ['GET /open', 'report', ['open'], ['No report']],
      ['GET /none', 'report', ['404'], ['No report']],
      ['GET /v1/bug', 'report', ['500'], ['A deliberate bug', 'No report']],
      ['GET /open', 'policy', ['closed'], ['No policy', 'No policy']],
      ['GET /none', 'policy', ['closed'], ['No policy']],
    ] as const) {
      doors.failures.length = 0;
      const client = await doors.open(ask(line, [`X-Throw: ${what}`]));
      assert.deepEqual(client.seen(), seen);
      assert.deepEqual(
        doors.failures.map(([error]) => (error as Error).message),
        failures,
      );
    }
  },
  'Each response is reported, with the name of its key': async (doors) => {
    const expected = [
      [ask('GET /v1/doors?a=b'), '/inn/v1/doors', 'owner', 'GET /v1/doors', 200, 10],
      [ask('HEAD /figures', [METER]), '/inn/figures', 'meter', 'GET /figures', 200, 0],
      // Node rejects its header, which is seen when the response is about to be sent.
      [ask('GET /v1/torn'), '/inn/v1/torn', 'owner', 'GET /v1/torn', 500, undefined],
      [ask('GET /open'), '/inn/open', undefined, 'GET /open', 200, 4],
      [ask('GET /v1/none'), '/inn/v1/none', 'owner', undefined, 404, undefined],
      [ask('GET /v1/none', [NO_KEY]), '/inn/v1/none', undefined, undefined, 401, undefined],
      [ask('GET /secret', ['Host: b']), '', undefined, undefined, 400, undefined],
    ] as const;
    for (const [bytes, ...rest] of expected) {
      await doors.exchange(bytes);
      const { path, keyName, operation, status, bodyBytes } = doors.exchanges.at(-1)!;
      const seen = [
        path,
        keyName,
        operation,
        status,
        rest[4] === undefined ? undefined : bodyBytes,
      ];
      assert.deepEqual(seen, rest);
    }
    assert.equal(doors.exchanges.length, expected.length);
  },
  'A handler gets the body, announced or in chunks, or none': sees(
    [ask('POST /v1/doors', [], 'ab'), ' 200 ', '\r\n\r\nab'],
    [ask('POST /v1/doors', [CHUNKED], '2\r\nab\r\n1\r\nc\r\n0\r\n\r\n'), '\r\n\r\nabc'],
    [ask('POST /v1/doors', ['Content-Length: 0']), ' 200 ', 'Content-Length: 0\r\n'],
    [ask('POST /v1/doors'), ' 200 ', 'Content-Length: 0\r\n'],
  ),
  'Whether a connection stays depends on Content-Length and what was read, not on how bytes come':
    async (doors) => {
      const chunks = `1\r\na\r\n${'1\r\nb\r\n'.repeat(9)}0\r\n\r\n`;
      const long = `65\r\n${'a'.repeat(101)}\r\n0\r\n\r\n`;
      for (const [bytes, status, isLast] of [
        [ask('POST /v1/none', [], 'abc'), 404, true],
        [ask('POST /v1/doors', ['X-Refuse: before'], 'abc'), 415, true],
        [ask('POST /v1/doors', ['X-Refuse: late'], 'abc'), 415, true],
        [ask('POST /v1/doors', ['X-Refuse: late', CHUNKED], chunks), 415, true],
        [ask('POST /v1/doors', ['X-Refuse: late', CHUNKED], '0\r\n\r\n'), 415, true],
        [ask('POST /v1/doors', ['X-Refuse: late', 'Content-Length: 0']), 415, false],
        [ask('POST /v1/doors', ['X-Refuse: late']), 415, false],
        [ask('POST /v1/doors', ['X-Refuse: after'], 'abc'), 400, false],
        [ask('POST /v1/doors', ['X-Refuse: after', CHUNKED], chunks), 400, false],
        [ask('POST /v1/doors', ['Content-Length: 101']), 413, true],
        [ask('POST /v1/doors', [], 'a'.repeat(101)), 413, true],
        [ask('POST /v1/doors', [CHUNKED], long), 413, true],
        [ask('POST /v1/doors', ['X-Read: late', CHUNKED], long), 413, true],
        [ask('POST /v1/doors', [CHUNKED], chunks), 200, false],
        [ask('POST /v1/doors', [CHUNKED], '0\r\nX-Connection: close\r\n\r\n'), 200, false],
      ] as const) {
        const end = bytes.indexOf('\r\n\r\n') + 4;
        // At once, the body after the header, and the last byte of all after the rest.
        for (const cut of [bytes.length, end, bytes.length - 1]) {
          const client = await doors.open(bytes.slice(0, cut));
          if (cut < bytes.length) await client.send(bytes.slice(cut));
          const text = client.text();
          client.close();
          const shown = `${bytes.slice(0, 300)} cut at ${cut}: ${text}`;
          assert.ok(text.startsWith(`HTTP/1.1 ${status} `), shown);
          assert.equal(text.includes(CLOSE), isLast, shown);
        }
      }
    },
  'A body that no operation asked for is discarded if it is short, or else ends the connection':
    async (doors) => {
      const client = await doors.open(ask('GET /open', [], 'a'.repeat(100)) + ask('GET /open'));
      assert.deepEqual(client.seen(), ['open', 'open']);
      await sees(
        [ask('GET /open', ['Content-Length: 101']), ' 200 ', CLOSE],
        [ask('GET /open', [CHUNKED], '1\r\na\r\n0\r\n\r\n') + ask('GET /open'), ' 200 ', CLOSE],
      )(doors);
    },
  'What the header alone refuses is refused before the parser rejects the body': sees(
    [ask('POST /v1/doors', [CHUNKED, NO_KEY], 'no size\r\n'), ' 401 ', CLOSE],
    [ask('POST /v1/none', [CHUNKED], 'no size\r\n'), ' 404 ', CLOSE],
  ),
  'A client that expects 100 gets it when the body is wanted, and not before': async (doors) => {
    const expecting = [EXPECT, 'Content-Length: 1'];
    const again = 'expect: 100-Continue , 100-continue';
    const client = await doors.open(ask('POST /v1/doors', [...expecting, again]));
    assert.deepEqual(client.seen(), ['100']);
    await client.send('a');
    assert.deepEqual(client.seen(), ['100', 'a']);
    await sees(
      [ask('POST /v1/doors', [...expecting, NO_KEY]), ' 401 ', CLOSE],
      [ask('POST /v1/doors', ['X-Refuse: before', ...expecting]), ' 415 ', CLOSE],
      [ask('GET /open', expecting), ' 200 ', CLOSE],
      // HTTP/1.0 has no 100: a client would take it for the response.
      [ask('POST /v1/doors', [EXPECT], 'a').replace('/1.1', '/1.0'), ' 200 ', '\r\n\r\na'],
    )(doors);
  },
  'During a stop, and after Upgrade or a Connection in the trailer, a response is the last': async (
    doors,
  ) => {
    const upgrade = ['Upgrade: h2c', 'Connection: Upgrade'];
    const trailer = '1\r\na\r\n0\r\nConnection: close\r\n\r\n';
    await sees(
      [ask('GET /open', upgrade), CLOSE],
      [ask('POST /v1/doors', upgrade, 'a') + ask('GET /open'), ' 200 ', CLOSE, '\r\n\r\na'],
      [ask('POST /v1/doors', [CHUNKED], trailer), ' 200 ', CLOSE],
      [ask('POST /v1/doors', [CHUNKED], trailer.replace('C', 'Proxy-C')), ' 200 ', CLOSE],
    )(doors);
    doors.stop();
    await sees([ask('GET /open'), ' 200 ', CLOSE, '<closed>'])(doors);
  },
  'A long body is sent in pieces, as its client reads, also after CONNECT and nonsense': async (
    doors,
  ) => {
    for (const [fields, body, more, others] of [
      [[], '', '', []],
      [[], '', 'CONNECT b:443 HTTP/1.1\r\nHost: b\r\n\r\n', ['405', 'closed']],
      [[CHUNKED], '1\r\n', 'no size\r\n', ['closed']],
    ] as const) {
      const client = await doors.open();
      client.socket.pause();
      await client.send(ask('GET /long', fields, body));
      const { writableLength } = client.serverSide;
      assert.ok(writableLength > 0 && writableLength < 200_000, `${writableLength} bytes`);
      await client.send(more);
      client.socket.resume();
      await doors.settle();
      const [long, ...rest] = client.seen();
      assert.equal(long?.length, LONG.length);
      assert.deepEqual(rest, others);
    }
  },
  'A client that goes away in the middle of a body is not reported': async (doors) => {
    const client = await doors.open(ask('POST /v1/doors', ['Content-Length: 9'], '').concat('a'));
    client.socket.destroy();
    if (!client.serverSide.destroyed) await once(client.serverSide, 'close');
    await doors.settle();
    assert.deepEqual([doors.exchanges, doors.failures], [[], []]);
  },
} as const satisfies Readonly<Record<string, DoorsCase>>;

export const LISTENER_CASES = opening(CASES, openDoors);
