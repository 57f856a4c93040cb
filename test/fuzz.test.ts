/**
 * Thousands of random requests, many of them broken, from clients of every conduct, against a
 * service with a file store.
 *
 * Whatever is sent, the service goes on, every response is well-formed HTTP with a known status,
 * every failure is an Error, every connection ends, and in the end the store holds the pets
 * that were answered. TEST_SEED chooses other requests, and TEST_CASE one client by its seed.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Logger } from '../src/core/base/logger.ts';
import { connectionsOf } from '../src/core/http/http-server.ts';
import type { ErrorCode } from '../src/core/api/api-error.ts';
import { tempDir } from './support/disk/temp-dir.ts';
import { CASE, caseOf, rounds, SEED } from './support/extent.ts';
import type { RawAnswer } from './support/http/answers.ts';
import { CHUNKED, inChunks, requestOf } from './support/http/requests.ts';
import { openService } from './support/http/service.ts';
import { assertErrorAnswer, connectWire } from './support/http/wire.ts';
import { randomNewPet, randomPetText } from './support/pets/random-pet.ts';
import { createRandom, mutate, type Random } from './support/random.ts';
import { until } from './support/until.ts';
import { setLate } from './wire/connections.ts';

const COUNT = rounds(2500, 8000);
const SIDE_BY_SIDE = 16;
const BODY_LIMIT_BYTES = 2048;
/** At once, as soon as `setLate` says so: see below. */
const LIMITS = { headersTimeout: 1, requestTimeout: 1, connectionsCheckingInterval: 20 };

const fields = (...lines: readonly string[]): readonly string[] =>
  lines.map((line) => `\r\n${line}`);

const LINES = [
  ...['GET /v1/pets', 'HEAD /v1/pets', 'GET /v1/pets?limit=5', 'GET /v1/pets?limit=20&status=sold'],
  ...['GET /v1/pets/1', 'GET /v1/pets/%31', 'GET http://a/v1/pets', 'GET /livez', 'GET /readyz'],
  ...['GET /openapi.json', 'GET /metrics', 'OPTIONS *', 'OPTIONS /v1/pets', 'PUT /v1/pets'],
  ...[
    'GET /',
    'GET /v1/pets/x',
    'GET /v1/pets/',
    'GET //',
    'GET /../v1/pets',
    'GET /\\',
    'GET a:80',
  ],
  ...['GET /v1/pets/9223372036854775808', 'GET /v1/pets/%', 'GET /v1/pets/%ff', 'TRACE /livez'],
  ...['GET /v1/pets?limit=0', 'GET /v1/pets?limit=1&limit=2', 'GET /v1/pets?status=SOLD'],
  ...['GET /v1/pets?after=-9223372036854775808', 'GET /v1/pets?a=%zz', 'GET /v1/pets?&&&=%00'],
];
const BODIES = [
  ...['{}', '[]', 'null', '"', '{"name":1,"categoryId":"1"}', '\ufeff{}', '\ud800', ' \n'],
  ...['{"name":"a","categoryId":1.5}', '{"name":"a","categoryId":1e400}', '['.repeat(2000)],
  ...[' '.repeat(2049), ' '.repeat(100_000), '"\\ud83d"'],
];
/** What is replaced in a request, and by what. */
const EDITS: readonly (readonly [part: RegExp, ...instead: string[]])[] = [
  [/ HTTP\/1\.1/, '', ...['1.0', '0.9', '2.0', '1.2', '1.1 '].map((v) => ` HTTP/${v}`)],
  [/^[A-Z]+/, 'CONNECT', 'get', 'G\tET', 'QUERY', 'PATCH', 'POST'],
  [/Host: a\r\n/, '', 'Host:\r\n', 'Host: u@a\r\n', '$&$&', 'host: [::1]:80\r\n'],
  [/Authorization.*/, 'X: y', 'Authorization: Bearer x', 'Authorization: Basic eA=='],
  [/Content-Length: /, 'X: ', '$&1', 'Content-Length: 5\r\n$&'],
  [/\r\n0\r\n/, ';a="b"$&', '\r\n0\r\nX-Trailer: 1\r\n'],
  [/(?=\r\n\r\n)/, ...fields('Content-Type: text/plain', 'Content-Type: application/json')],
  [/(?=\r\n\r\n)/, ...fields('Connection: close', 'Connection: keep-alive', 'Connection: x')],
  [/(?=\r\n\r\n)/, ...fields('Expect: 100-continue', 'Expect: x', 'Transfer-Encoding: gzip')],
  [/(?=\r\n\r\n)/, ...fields('Content-Encoding: gzip', 'Upgrade: h2c\r\nConnection: Upgrade')],
  [/(?=\r\n\r\n)/, ...fields('X : y', ' X: y', ': y', 'X', 'X: \ty', `X: ${'x'.repeat(17_000)}`)],
];

/** A read, or a create; half of them with edits. */
function randomRequest(random: Random): string {
  const pet = randomPetText(random, randomNewPet(random));
  const body = random.oneIn(8) ? random.pick(BODIES) : pet;
  let request = requestOf(random.pick(LINES));
  if (random.oneIn(3)) request = requestOf('POST /v1/pets', [], body);
  if (random.oneIn(6)) {
    request = requestOf('POST /v1/pets', [CHUNKED], inChunks(body, random.below(body.length)));
  }
  while (random.oneIn(2)) {
    const [part, ...instead] = random.pick(EDITS);
    request = request.replace(part, random.pick(instead));
  }
  return request;
}

/** How a client behaves, given what it has to say. */
type Conduct = (socket: Socket, random: Random, bytes: Buffer) => unknown;

/** Everything at once, or in pieces that are cut anywhere; then a half-close. */
const sendsAndEnds: Conduct = (socket, random, bytes) => {
  const send = (at: number): void => {
    const end = random.oneIn(2) ? bytes.length : at + 1 + random.below(bytes.length - at);
    if (end >= bytes.length) socket.end(bytes.subarray(at));
    else socket.write(bytes.subarray(at, end), () => setImmediate(send, end));
  };
  send(0);
};

/** Goes away while it sends, or before it has its answers. */
const goesAway: Conduct = (socket, random, bytes) => {
  socket.write(bytes);
  setTimeout(() => socket.resetAndDestroy(), random.below(20));
};

test('Whatever clients send, answers are whole and the store has what was answered', async (t) => {
  const logged: unknown[] = [];
  const log: Logger = (level, event, details) => {
    if (level !== 'info') logged.push([level, event, details]);
  };
  const dataFile = join(tempDir(t), 'pets.json');
  const options = { dataFile, bodyLimitBytes: BODY_LIMIT_BYTES, log };
  const service = await openService(t, options, LIMITS);
  setLate(service, false);
  const statuses = new Set<number>();
  const pets = new Map<number, string>();
  let requests = 0;
  /** Requests that were sent, and whose answers the client may have missed. */
  let unseen = 0;
  let nextSeed = CASE === undefined ? SEED * 1_000_000 : Number(CASE);

  const converse = async (random: Random, conduct: Conduct): Promise<void> => {
    const sent = Array.from({ length: 1 + random.below(5) }, () => randomRequest(random));
    const count = sent.length;
    const whole = Buffer.from(sent.join(''));
    const bytes = random.oneIn(4) ? mutate(random, whole) : whole;
    requests += count;
    const wire = await connectWire(service.port);
    wire.socket.setNoDelay(true);
    conduct(wire.socket, random, bytes);
    if (conduct === goesAway) {
      unseen += count;
      await new Promise((resolve) => wire.socket.once('close', resolve));
      return;
    }
    const answers = await wire.allAnswers(bytes.includes('HEAD'));
    if (!wire.socket.readableEnded) unseen += count;
    wire.close();
    for (const answer of answers) {
      checkAnswer(answer);
      statuses.add(answer.status);
      if (answer.status === 201) addPet(pets, answer);
    }
  };
  const client = async (): Promise<void> => {
    while (requests < (CASE === undefined ? COUNT : 1)) {
      const seed = nextSeed++;
      const random = createRandom(seed);
      const conduct = random.oneIn(10) ? goesAway : sendsAndEnds;
      await converse(random, conduct).catch((cause: unknown) => {
        const what = `A client that ${conduct.name}, ${caseOf(seed)}: ${String(cause)}`;
        throw new Error(what, { cause });
      });
    }
    // What is left may end by time alone, such as a malformed body after Upgrade.
    setLate(service, true);
  };
  await Promise.all(Array.from({ length: CASE === undefined ? SIDE_BY_SIDE : 1 }, client));
  await until(() => connectionsOf(service.server).size === 0);
  await service.close();

  assert.deepEqual(logged, []);
  const found = readFileSync(dataFile, 'latin1').matchAll(
    /^,?(\{.*?)(?:,"idempotencyKey":"\w+")?\}\s*$/gm,
  );
  const lines = Array.from(found, ([, pet]) => `${pet}}`);
  assert.ok(lines.length >= pets.size && lines.length <= pets.size + unseen);
  const stored = new Set(lines);
  for (const pet of pets.values()) assert.ok(stored.has(pet), pet);
  // One client does not cause them all.
  if (CASE !== undefined) return;
  for (const status of [200, 201, 204, 400, 401, 404, 405, 413, 415, 417, 501, 505]) {
    assert.ok(statuses.has(status), `No request was answered with ${status}`);
  }
});

function checkAnswer(answer: RawAnswer): void {
  const { status, headers, body } = answer;
  assert.notEqual(status, 500, body);
  if (status !== 100) {
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-store');
  }
  if (status < 400) assert.ok([100, 200, 201, 204].includes(status), String(status));
  // An answer to HEAD has no body.
  else if (body !== '') assertErrorAnswer(answer, (JSON.parse(body) as { code: ErrorCode }).code);
}

function addPet(pets: Map<number, string>, { headers, body }: RawAnswer): void {
  const id = Number(/^\{"id":([0-9]+),/.exec(body)?.[1]);
  assert.equal(headers.get('location'), `/v1/pets/${id}`);
  assert.ok(!pets.has(id), `${id} was given out twice`);
  pets.set(id, body);
}
