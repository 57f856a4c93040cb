/**
 * Thousands of random requests, many of them broken, against a service with a file store.
 *
 * Whatever comes, the service lives, every answer is well-formed HTTP with a known status, every
 * failure is an Error, and in the end the store holds the pets that were answered, and no other.
 * FUZZ_SEED and FUZZ_COUNT choose other requests and more of them.
 */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Log } from '../src/base/log.ts';
import { STATUS_OF_CODE, type ErrorCode } from '../src/http/api-error.ts';
import { randomConversation } from './support/random-request.ts';
import { createRandom, type Random } from './support/random.ts';
import { KEY, startService } from './support/service.ts';
import { parseStrictly, type RawAnswer } from './support/strict-answers.ts';
import { tempDir } from './support/temp-dir.ts';

const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
const COUNT = Number(process.env['FUZZ_COUNT'] ?? 6000);
const SIDE_BY_SIDE = 16;
const BODY_LIMIT_BYTES = 2048;
/** node:http does not tell of a malformed body behind Upgrade, so that only the time ends it. */
const LIMITS = { headersTimeout: 2000, requestTimeout: 2000, connectionsCheckingInterval: 100 };
const FAILURES: ReadonlySet<number> = new Set(Object.values(STATUS_OF_CODE));

test('Whatever clients send, answers are whole and the store has what was answered', async (t) => {
  const logged: unknown[] = [];
  const dataFile = join(tempDir(t), 'pets.json');
  const log: Log = (level, event, details) => {
    if (level !== 'info') logged.push([level, event, details]);
  };
  const service = await startService({ dataFile, bodyLimitBytes: BODY_LIMIT_BYTES, log }, LIMITS);
  const counts = new Map<number, number>();
  const pets = new Map<number, string>();
  let requests = 0;
  let resets = 0;
  let nextSeed = SEED * 1_000_000;

  const converse = async (random: Random): Promise<void> => {
    const { bytes, count } = randomConversation(random, KEY);
    requests += count;
    const { text, isReset } = await talk(random, service.port, bytes);
    if (isReset) resets += 1;
    for (const answer of parseStrictly(text, bytes.includes('HEAD'))) {
      checkAnswer(answer);
      counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
      if (answer.status === 201) addPet(pets, answer);
    }
  };
  const client = async (): Promise<void> => {
    while (requests < COUNT) {
      const seed = nextSeed++;
      try {
        await converse(createRandom(seed));
      } catch (error) {
        const { bytes } = randomConversation(createRandom(seed), KEY);
        const sent = JSON.stringify(bytes.toString('latin1').slice(0, 3000));
        throw new Error(`With seed ${seed}, sent ${sent}: ${String(error)}`, { cause: error });
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: SIDE_BY_SIDE }, client));
  } finally {
    await service.close();
  }

  const byStatus = Object.fromEntries([...counts].sort(([a], [b]) => a - b));
  t.diagnostic(`FUZZ_SEED=${SEED} FUZZ_COUNT=${COUNT}, ${resets} connections were reset`);
  t.diagnostic(`Answers by status: ${JSON.stringify(byStatus)}`);
  assert.deepEqual(logged, []);
  const stored = new Map<number, string>();
  for (const line of readFileSync(dataFile, 'latin1').split('\n')) {
    const id = /^\{"id":([0-9]+),/.exec(line)?.[1];
    if (id !== undefined) stored.set(Number(id), line.replace(/,$/, ''));
  }
  // Where the connection broke while a client still wrote, it may have missed an answer.
  if (resets === 0) assert.equal(stored.size, pets.size);
  assert.ok(stored.size <= pets.size + resets);
  for (const [id, pet] of pets) assert.equal(stored.get(id), pet);
  for (const status of [200, 201, 204, 400, 401, 404, 405, 413, 415, 417, 501, 505]) {
    assert.ok(counts.has(status) || COUNT < 6000, `No request was answered with ${status}`);
  }
});

/** Sends the bytes in pieces, and takes everything until the service closes the connection. */
function talk(
  random: Random,
  port: number,
  bytes: Buffer,
): Promise<{ text: string; isReset: boolean }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    let text = '';
    let isReset = false;
    const give = (): void => reject(new Error(`Not closed after ${JSON.stringify(text)}`));
    const timer = setTimeout(give, 20_000);
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('error', () => (isReset = true));
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ text, isReset });
    });
    const send = (at: number): void => {
      const end = random.oneIn(2) ? bytes.length : at + 1 + random.below(bytes.length - at);
      if (end >= bytes.length) socket.end(bytes.subarray(at));
      else socket.write(bytes.subarray(at, end), () => setImmediate(send, end));
    };
    socket.on('connect', () => send(0));
  });
}

function checkAnswer({ status, headers, body, hasBody }: RawAnswer): void {
  assert.notEqual(status, 500, body);
  if (status < 400) {
    assert.ok([100, 200, 201, 204].includes(status), String(status));
    return;
  }
  assert.ok(FAILURES.has(status), String(status));
  assert.equal(headers.get('content-type'), 'application/json');
  if (!hasBody) return;
  const error = JSON.parse(body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(error), ['code', 'message', 'status']);
  assert.equal(STATUS_OF_CODE[error['code'] as ErrorCode], status, body);
  assert.equal(error['status'], status);
  assert.ok(typeof error['message'] === 'string' && error['message'] !== '');
}

function addPet(pets: Map<number, string>, { headers, body }: RawAnswer): void {
  const id = Number(/^\{"id":([0-9]+),/.exec(body)?.[1]);
  assert.equal(headers.get('location'), `/v1/pets/${id}`);
  assert.ok(!pets.has(id), `${id} was given out twice`);
  pets.set(id, body);
}
