/**
 * Thousands of random requests, many of them broken, from clients of every conduct, against a
 * service.
 *
 * Whatever is sent, the service goes on, every response is well-formed HTTP with a known status,
 * every failure is an Error, every connection ends, a bystander is answered throughout, and in the
 * end the store holds the pets that were answered. FUZZ_SEED and FUZZ_COUNT choose other requests
 * and more of them.
 */

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppOptions } from '../../../src/app-options.ts';
import type { Log } from '../../../src/base/log.ts';
import { connectionsOf } from '../../../src/http/http-server.ts';
import type { ErrorCode } from '../../../src/http/api-error.ts';
import { usedBytes } from '../process/heap.ts';
import { randomConversation } from './random-request.ts';
import { createRandom, type Random } from '../random.ts';
import { KEY, startService } from './service.ts';
import { parseAnswers, type RawAnswer } from './answers.ts';
import { assertErrorAnswer, connectWire } from './wire.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const COUNT = Number(process.env['FUZZ_COUNT'] ?? 8000);
const SIDE_BY_SIDE = 16;
const BODY_LIMIT_BYTES = 2048;
/** Those in force are longer; and what ends by time alone is to end soon. */
const LIMITS = {
  headersTimeout: 2000,
  requestTimeout: 2000,
  connectionsCheckingInterval: 100,
  timeout: 1500,
};
/** Only reached if a test fails: no connection takes so long otherwise. */
const PATIENCE_MS = 20_000;

/** What a client saw of one connection. */
interface Seen {
  readonly text: string;
  /** False where it may have missed an answer: it went away, or was reset. */
  readonly isAll: boolean;
}

/** How a client behaves: given what it has to say, in batches. */
type Conduct = (socket: Socket, random: Random, batches: readonly Buffer[]) => void;

/** Everything at once, or in pieces that are cut anywhere; then a half-close. */
const sendsAndEnds: Conduct = (socket, random, batches) => {
  const bytes = Buffer.concat(batches);
  const send = (at: number): void => {
    const end = random.oneIn(2) ? bytes.length : at + 1 + random.below(bytes.length - at);
    if (end >= bytes.length) socket.end(bytes.subarray(at));
    else socket.write(bytes.subarray(at, end), () => setImmediate(send, end));
  };
  send(0);
};

/** Batch after batch on the same connection, with a pause after each. */
const comesAgain: Conduct = (socket, _random, batches) => {
  const rest = [...batches];
  const next = (): void => {
    const batch = rest.shift();
    if (batch === undefined) return void socket.end();
    socket.write(batch);
    setTimeout(next, 20);
  };
  next();
};

/** Goes away while it sends, or before it has its answers. */
const goesAway: Conduct = (socket, random, batches) => {
  for (const batch of batches) socket.write(batch);
  setTimeout(() => socket.resetAndDestroy(), random.below(20));
};

/** Asks again and again, and reads nothing until it is cut off. */
const neverReads: Conduct = (socket, _random, batches) => {
  socket.pause();
  for (const batch of batches) socket.write(batch);
  const pour = (): void => {
    if (!socket.destroyed && socket.writableLength < 1 << 20) {
      socket.write(Buffer.concat(Array.from({ length: 50 }, () => LIST)));
    }
  };
  const pouring = setInterval(pour, 10);
  // A side that reads nothing does not notice either that the other side is gone.
  const looking = setTimeout(() => {
    clearInterval(pouring);
    socket.end();
    socket.resume();
  }, 2 * LIMITS.timeout);
  socket.on('close', () => {
    clearInterval(pouring);
    clearTimeout(looking);
  });
};

const LIST: Buffer = Buffer.from(
  `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n\r\n`,
);
const CONDUCTS: readonly Conduct[] = [
  ...[sendsAndEnds, sendsAndEnds, sendsAndEnds, sendsAndEnds, sendsAndEnds, sendsAndEnds],
  ...[comesAgain, comesAgain, comesAgain, goesAway],
];

/** Where the pets of the service are kept, and how they are found there afterwards. */
export interface FuzzedService {
  readonly options: Partial<AppOptions>;
  /** How many requests are sent; `FUZZ_COUNT` by default. */
  readonly count?: number;
  /** The text of each pet by its id, when the service is closed. */
  storedPets(): Promise<ReadonlyMap<number, string>>;
}

export async function fuzz(
  t: TestContext,
  { options, storedPets, count: wanted = COUNT }: FuzzedService,
): Promise<void> {
  const logged: unknown[] = [];
  const log: Log = (level, event, details) => {
    if (level !== 'info') logged.push([level, event, details]);
  };
  const service = await startService({ ...options, bodyLimitBytes: BODY_LIMIT_BYTES, log }, LIMITS);
  const counts = new Map<number, number>();
  const pets = new Map<number, string>();
  let requests = 0;
  /** Requests that were sent, and whose answers the client may have missed. */
  let unseen = 0;
  let nextSeed = SEED * 1_000_000;

  const converse = async (random: Random, conduct: Conduct): Promise<void> => {
    const batches = Array.from({ length: conduct === sendsAndEnds ? 1 : 1 + random.below(4) }, () =>
      randomConversation(random, KEY),
    );
    const count = batches.reduce((sum, batch) => sum + batch.count, 0);
    const bytes = batches.map((batch) => batch.bytes);
    requests += count;
    const { text, isAll } = await talk(service.port, (socket) => conduct(socket, random, bytes));
    if (!isAll) unseen += count;
    // What a client that went away has is not whole.
    if (conduct === goesAway || conduct === neverReads) return;
    const mayBeHead = bytes.some((batch) => batch.includes('HEAD'));
    for (const answer of parseAnswers(text, mayBeHead)) {
      checkAnswer(answer);
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
      if (answer.status === 201) addPet(pets, answer);
    }
  };
  const client = async (): Promise<void> => {
    while (requests < wanted) {
      const seed = nextSeed++;
      const random = createRandom(seed);
      const conduct = random.oneIn(300) ? neverReads : random.pick(CONDUCTS);
      try {
        await converse(random, conduct);
      } catch (error) {
        throw new Error(`With seed ${seed}, a client that ${conduct.name}: ${String(error)}`, {
          cause: error,
        });
      }
    }
  };
  try {
    const usedBefore = usedBytes();
    const clients = Promise.all(Array.from({ length: SIDE_BY_SIDE }, client));
    await Promise.all([clients, standBy(service.port, clients)]);
    await allClosed(() => connectionsOf(service.server).size);
    // 2,000 pets of 1 KB and all answers of this test are within this.
    const grownBytes = usedBytes() - usedBefore;
    assert.ok(grownBytes < 64 << 20, `${grownBytes} bytes more are in use`);
  } finally {
    await service.close();
  }

  const byStatus = Object.fromEntries([...counts].sort(([a], [b]) => a - b));
  t.diagnostic(`FUZZ_SEED=${SEED} FUZZ_COUNT=${wanted}, ${unseen} answers may have been missed`);
  t.diagnostic(`Answers by status: ${JSON.stringify(byStatus)}`);
  assert.deepEqual(logged, []);
  const stored = await storedPets();
  assert.ok(stored.size >= pets.size && stored.size <= pets.size + unseen);
  for (const [id, pet] of pets) assert.equal(stored.get(id), pet);
  for (const status of [200, 201, 204, 400, 401, 404, 405, 413, 415, 417, 501, 505]) {
    assert.ok(counts.has(status) || wanted < 8000, `No request was answered with ${status}`);
  }
}

/** Asks for /livez on one connection again and again, until `over` settles. */
async function standBy(port: number, over: Promise<unknown>): Promise<void> {
  let isOver = false;
  const end = (): unknown => (isOver = true);
  over.then(end, end);
  const wire = await connectWire(port);
  while (!isOver) {
    assert.equal((await wire.send('GET', '/livez')).status, 200, 'A bystander');
    await sleep(5);
  }
  wire.close();
}

/** Connects, behaves, and takes everything until the connection is closed. */
function talk(port: number, behave: (socket: Socket) => void): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    let text = '';
    let isReset = false;
    const give = (): void => reject(new Error(`Not closed after ${JSON.stringify(text)}`));
    const timer = setTimeout(give, PATIENCE_MS);
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('error', () => (isReset = true));
    // The service has said its last, and so has the client.
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ text, isAll: !isReset && socket.readableEnded });
    });
    socket.on('connect', () => behave(socket));
  });
}

/** Resolves when the service has no connection any more. */
async function allClosed(open: () => number): Promise<void> {
  const endsAt = performance.now() + PATIENCE_MS;
  while (open() > 0) {
    assert.ok(performance.now() < endsAt, `${open()} connections are open still`);
    await sleep(20);
  }
}

function checkAnswer(answer: RawAnswer): void {
  const { status, headers } = answer;
  assert.notEqual(status, 500, answer.body);
  if (status !== 100) {
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'no-store');
  }
  if (status < 400) assert.ok([100, 200, 201, 204].includes(status), String(status));
  // An answer to HEAD has no body.
  else if (answer.body !== '') assertErrorAnswer(answer, codeIn(answer));
}

function codeIn({ body }: RawAnswer): ErrorCode {
  return (JSON.parse(body) as { code: ErrorCode }).code;
}

function addPet(pets: Map<number, string>, { headers, body }: RawAnswer): void {
  const id = Number(/^\{"id":([0-9]+),/.exec(body)?.[1]);
  assert.equal(headers.get('location'), `/v1/pets/${id}`);
  assert.ok(!pets.has(id), `${id} was given out twice`);
  pets.set(id, body);
}
