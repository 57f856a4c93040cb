/** Several requests on one connection: each gets its answer, in its turn, however they are cut. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { holdCreate, openBothSides } from './connections.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { CASE, caseOf, rounds } from '../support/extent.ts';
import { addLongPets, openService } from '../support/http/service.ts';
import { usedBytes } from '../support/process/heap.ts';
import {
  CHUNKED,
  CREATE,
  EXPECT,
  LIVEZ,
  REX,
  REX_1,
  lastRequestOf,
  requestOf,
} from '../support/http/requests.ts';
import { createRandom } from '../support/random.ts';
import { openWire, statusesOf, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

const service = await openService({ after });

const KINDS: readonly (readonly [request: string, status: number])[] = [
  [LIVEZ, 200],
  [requestOf('GET /v1/pets?limit=5'), 200],
  [CREATE, 201],
  [requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n0\r\nX-Connection: close\r\n\r\n`), 201],
  [requestOf('POST /v1/pets', [], '{}'), 400],
  [requestOf('PUT /', ['Content-Length: 0']), 404],
  [requestOf('OPTIONS /v1/pets'), 204],
  // Bodies that are not read.
  [requestOf('GET /livez', [], LIVEZ), 200],
  [requestOf('OPTIONS /v1/pets', [], 'x'), 204],
  // Creates without a body.
  [requestOf('POST /v1/pets'), 400],
  [requestOf('POST /v1/pets', ['Content-Length: 0']), 400],
  [requestOf('POST /v1/pets', [CHUNKED], '0\r\n\r\n'), 400],
];

test('Batches of requests, one after the other on one connection, get their responses in order', async (t) => {
  const wire = await openWire(t, service.port);
  const expected: number[] = [];
  for (const size of [2, 2, 1, 3, 100, 2, 1, 1, 10]) {
    const at = expected.length;
    const batch = Array.from({ length: size }, (_, i) => KINDS[(at + i) % KINDS.length]!);
    wire.socket.write(batch.map(([request]) => request).join(''));
    expected.push(...batch.map(([, status]) => status));
    assert.deepEqual(statusesOf(await wire.answers(expected.length)), expected);
  }
});

test('However requests are cut into writes, each gets its response, in order', async (t) => {
  const own = await openService(t);
  await Promise.all(Array.from({ length: rounds(50, 2000) }, (_, i) => checkCuts(i + 1)));

  /** A client of its own, with random requests, cuts and pauses. Often it closes its side. */
  async function checkCuts(seed: number): Promise<void> {
    if (CASE !== undefined && CASE !== String(seed)) return;
    const random = createRandom(seed);
    const count = 1 + random.below(random.oneIn(5) ? 200 : 12);
    const kinds = Array.from({ length: count }, () => random.pick(KINDS));
    const bytes = kinds.map(([request]) => request).join('');
    const wire = await openWire(t, own.port);
    wire.socket.setNoDelay(true);
    const cuts = Array.from({ length: random.below(12) }, () => random.below(bytes.length));
    let at = 0;
    for (const cut of [...cuts.sort((a, b) => a - b), bytes.length]) {
      wire.socket.write(bytes.slice(at, cut));
      at = cut;
      for (let turns = random.below(20); turns >= 0; turns -= 1) await nextTurn();
    }
    if (random.oneIn(2)) wire.socket.end();
    const answers = await wire.answers(count).catch((cause: unknown) => {
      throw new Error(caseOf(seed), { cause });
    });
    const expected = kinds.map(([, status]) => status);
    assert.deepEqual(statusesOf(answers), expected, caseOf(seed));
  }
});

test('After bytes that are not HTTP nothing is parsed', async (t) => {
  const own = await openService(t);
  let errors = 0;
  own.server.on('clientError', () => (errors += 1));
  // The second request waits, so what follows is given to the parser in pieces.
  const answers = await talk(own.port, LIVEZ + LIVEZ + '\x01 is not HTTP\r\n\r\n'.repeat(1000));
  assert.deepEqual(statusesOf(answers), [200, 200, 400]);
  // Of them, one is the stop of the parser at the second request.
  assert.ok(errors <= 3, `${errors} errors`);
});

const LENGTH = rounds(20_000, 60_000);

test('A body in chunks of one byte takes little more than its length', async (t) => {
  const own = await openService(t);
  const chunks = [...REX.padEnd(LENGTH)].map((byte) => `1\r\n${byte}\r\n`).join('');
  const wires = await Promise.all(Array.from({ length: 25 }, () => openWire(t, own.port)));
  const before = usedBytes();
  for (const { socket } of wires) socket.write(requestOf('POST /v1/pets', [CHUNKED], chunks));
  // All of that is read when another connection is answered and nothing waits to be sent.
  await until(() => wires.every(({ socket }) => socket.writableLength === 0));
  await talk(own.port, lastRequestOf('GET /livez'));
  const perBody = (usedBytes() - before) / wires.length;
  assert.ok(perBody < 5 * LENGTH, `${perBody} bytes`);
  for (const { socket } of wires) socket.write('0\r\n\r\n');
  for (const wire of wires) assert.deepEqual(statusesOf(await wire.answers(1)), [201]);
});

const REX_LENGTH = `Content-Length: ${REX.length}`;
const EXPECTING = requestOf('POST /v1/pets', [EXPECT, REX_LENGTH]);
const UPGRADE = ['Connection: keep-alive, Upgrade', 'Upgrade: websocket'];
const UPGRADING = requestOf('POST /v1/pets', [...UPGRADE, REX_LENGTH]);
const LAST_LIVEZ = lastRequestOf('GET /livez');
const OTHERS = requestOf('GET /v1/pets/1') + CREATE + lastRequestOf('GET /v1/pets/2');

/**
 * What a client sends with its create; while that is in progress, or 'end' for a half-close; and
 * when it has the first two responses. Then the statuses of all responses.
 */
const AFTER_CREATE = [
  // To the parser a second piece of nonsense is one fault more.
  ['a malformed request', `${LIVEZ}nonsense\r\n\r\n`, 'nonsense', '', [201, 200, 400]],
  ['CONNECT', LIVEZ + requestOf('CONNECT b:443'), 'nonsense', '', [201, 200, 405]],
  ['a request cut by the end', `${LIVEZ}GET /livez`, 'end', '', [201, 200, 400]],
  ['nothing but a half-close', '', 'end', '', [201]],
  ['a batch that comes during another', LIVEZ, OTHERS, '', [201, 200, 200, 201, 200]],
  ['an expectation with its body', EXPECTING + REX, '', LAST_LIVEZ, [201, 100, 201, 200]],
  ['an expectation', EXPECTING, '', REX + LAST_LIVEZ, [201, 100, 201, 200]],
  // What comes in with a request to upgrade is lost to node:http, so it must not count at all.
  ['a create to upgrade', UPGRADING + REX + LIVEZ, '', '', [201, 201]],
  [
    'a create to upgrade in two parts',
    UPGRADING + REX.slice(0, 9),
    REX.slice(9) + LIVEZ,
    '',
    [201, 201],
  ],
] as const;

for (const [what, bytes, during, after, statuses] of AFTER_CREATE) {
  test(`After a create in progress, ${what} gets its response in its turn`, async (t) => {
    const { service: own, wire, release } = await holdCreate(t, bytes);
    assert.equal(wire.text(), '');
    if (during === 'end') wire.socket.end();
    else wire.socket.write(during);
    await talk(own.port, LAST_LIVEZ);
    release();
    await wire.answers(Math.min(2, statuses.length));
    if (after !== '') wire.socket.write(after);
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), statuses);
    const { status, body } = answers.at(-1)!;
    if (status >= 400) assert.equal((JSON.parse(body) as { status: unknown }).status, status);
    const created = answers.filter((answer) => answer.status === 201).map((answer) => answer.body);
    assert.deepEqual(created, [REX_1, REX_1.replace('1', '2')].slice(0, created.length));
  });
}

/** Requests whose response is the last of its connection, and its status. */
const LAST: readonly (readonly [what: string, bytes: string, status: number])[] = [
  ['with Connection: close', LAST_LIVEZ, 200],
  ['that expects 100 for no body', requestOf('GET /livez', [EXPECT]), 200],
  ['with an early response', requestOf('POST /v1/pets', ['Content-Type: a/b'], REX), 415],
  ['of CONNECT', requestOf('CONNECT b:443'), 405],
  ...['Connection', 'proxy-connection'].map(
    (name) =>
      [
        `with ${name} in its trailer`,
        requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n0\r\n${name}: close\r\n\r\n`),
        201,
      ] as const,
  ),
  ['to upgrade a GET', requestOf('GET /v1/pets', UPGRADE), 200],
  ['to upgrade a create', UPGRADING + REX, 201],
];

for (const [what, bytes, status] of LAST) {
  test(`The response to a request ${what} is ${status}, and what follows is not processed`, async (t) => {
    const own = await openService(t);
    const answers = await talk(own.port, bytes + CREATE.repeat(3));
    assert.deepEqual(statusesOf(answers), [status]);
    assert.equal(answers[0]?.headers.get('connection'), 'close');
    assert.equal(answers[0]?.headers.get('allow'), status === 405 ? '' : undefined);
    assert.equal(await (await own.fetch('/v1/pets')).text(), status === 201 ? `[${REX_1}]` : '[]');
  });
}

test('A HEAD whose body is malformed gets 400 without content', async (t) => {
  let isListed = false;
  const list = (): Promise<never> => {
    isListed = true;
    return new Promise(() => undefined);
  };
  const own = await openService(t, { store: { ...createMemoryStore(), list } });
  const wire = await openWire(t, own.port, LIVEZ + requestOf('HEAD /v1/pets', [CHUNKED]));
  await until(() => isListed);
  wire.socket.write('x');
  const [, answer, ...more] = await wire.allAnswers(true);
  assert.deepEqual([answer?.status, answer?.body, more], [400, '', []]);
  assert.ok(Number(answer?.headers.get('content-length')) > 0);
});

test('A GET with a body of exactly the limit gets its response before the body, and its connection stays', async (t) => {
  const wire = await openWire(t, service.port, requestOf('GET /livez', ['Content-Length: 65536']));
  await wire.answers(1);
  wire.socket.write('x'.repeat(65536) + lastRequestOf('GET /v1/nothing'));
  assert.deepEqual(statusesOf(await wire.allAnswers()), [200, 404]);
});

for (const [what, body, more, statuses] of [
  ['CONNECT gets its response after it', '', requestOf('CONNECT b:443'), [200, 405]],
  ['the body of its request is malformed', '1\r\n', 'no size\r\n', [200]],
] as const) {
  test(`A long response goes out in pieces, as its client reads, while ${what}`, async (t) => {
    const own = await openService(t);
    await addLongPets(own, 100);
    const { wire, serverSide } = await openBothSides(t, own);
    wire.socket.pause();
    const request = requestOf('GET /v1/pets?limit=100', body === '' ? [] : [CHUNKED], body);
    wire.socket.write(request);
    await until(() => serverSide.writableLength > 0);
    wire.socket.write(more);
    await until(() => serverSide.bytesRead === request.length + more.length);
    for (let turn = 0; turn < 200; turn += 1) await nextTurn();
    assert.ok(serverSide.writableLength < 200_000, `${serverSide.writableLength} bytes are queued`);
    wire.socket.resume();
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), statuses);
    assert.ok(answers[0]!.body.length > 6_000_000);
  });
}
