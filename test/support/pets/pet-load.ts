/** Load on a service: connections that create and read pets until it takes no more of them. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectWire, type Outcome, type Wire } from '../http/wire.ts';
import type { Random } from '../random.ts';
import { until } from '../until.ts';
import { petsOf, type PetLedger } from './pet-ledger.ts';

/** The outcome of a client that cannot connect. */
export const REFUSED = 'no connection';

/** Creates a pet. A 201 or a 503 is in the ledger. With a key one without a 201 is sent again. */
export async function createPet(
  connection: Wire,
  ledger: PetLedger,
  random: Random,
  hasKey = false,
): Promise<Outcome> {
  const body = ledger.unanswered.pop() ?? ledger.newPet(random);
  const key = `Idempotency-Key: ${createHash('md5').update(body).digest('hex')}`;
  const send = () => connection.send('POST', '/v1/pets', body, hasKey ? [key] : []);
  const outcome = await send();
  if (outcome.status === 201) ledger.addAnswer(outcome, body);
  else if (hasKey) ledger.unanswered.push(body);
  else if (outcome.status === 503) ledger.addRefusal(body);
  if (outcome.status !== 201 || !hasKey || !random.oneIn(4)) return outcome;
  // As a client that lost the response.
  const again = await send();
  if (again.status === 201) assert.equal(again.body, outcome.body);
  return again;
}

/**
 * Starts so many clients that create, and half as many that read. With keys, clients send a pet
 * without a response again, and some pets with one.
 */
export function startLoad(
  port: number,
  ledger: PetLedger,
  random: Random,
  creators: number,
  hasKeys = false,
) {
  const outcomes: Outcome[] = [];
  let isStopped = false;
  /** Requests that are sent from now on may meet a service that stops. */
  let mayBeLate = false;
  let lost = 0;
  const create = (connection: Wire): Promise<Outcome> =>
    createPet(connection, ledger, random, hasKeys);
  const read = async (connection: Wire): Promise<Outcome> => {
    const near = Math.max(0, ledger.lastId - random.below(5));
    const path = random.oneIn(2) ? `/v1/pets?limit=100&after=${near}` : `/v1/pets/${near + 1}`;
    const outcome = await connection.send('GET', path);
    if (outcome.status === 200) ledger.addSeen(outcome);
    return outcome;
  };
  /** Sends on one connection after the other, until none is to be had. */
  const repeat = async (send: typeof read): Promise<void> => {
    while (!isStopped) {
      const connection = await connectWire(port).catch(() => undefined);
      if (connection === undefined) return void outcomes.push({ status: 'cut', received: REFUSED });
      try {
        for (let isOpen = true; isOpen;) {
          const isInTime = !mayBeLate;
          const outcome = await send(connection);
          outcomes.push(outcome);
          if (outcome.status === 'cut' && isInTime) lost += 1;
          // Some connections are new, some are idle when a stop comes, and some are about to send.
          isOpen = !isStopped && !random.oneIn(10) && isKept(outcome);
          if (random.oneIn(4)) await sleep(random.below(4));
        }
      } finally {
        connection.close();
      }
    }
  };
  const kinds = Array.from({ length: creators }, () => create);
  const readers = Array.from({ length: Math.ceil(creators / 2) }, () => read);
  const ended = Promise.all([...kinds, ...readers].map(repeat)).then(() => outcomes);
  let hasEnded = false;
  const onEnd = (): void => void (hasEnded = true);
  ended.then(onEnd, onEnd);
  return {
    /** Resolves, with every outcome, when all connections have come to an end. */
    ended,
    /** Tells when a stop of the service begins, and when another one is ready. */
    stopping: (isStopping: boolean): void => void (mayBeLate = isStopping),
    /** How many requests that were sent before a stop began are without a response. */
    lost: (): number => lost,
    /** Ends each connection after its next response. */
    stop: (): void => void (isStopped = true),
    /** Resolves when so many pets were answered, and rejects if a response was wrong. */
    async answered(pets: number): Promise<void> {
      const goal = ledger.answered + pets;
      await until(() => ledger.answered >= goal || hasEnded);
      if (hasEnded) await ended;
    },
  };
}

function isKept(outcome: Outcome): boolean {
  return outcome.status !== 'cut' && outcome.headers.get('connection') !== 'close';
}

/** The text of every pet that the service holds, page by page, through the interface. */
export async function listAllPets(port: number): Promise<readonly string[]> {
  const connection = await connectWire(port);
  const pets: string[] = [];
  for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined;) {
    const answer: Outcome = await connection.send('GET', path);
    assert.ok(answer.status === 200, `${answer.status}`);
    pets.push(...petsOf(answer));
    path = /<(.*)>/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  connection.close();
  return pets;
}
