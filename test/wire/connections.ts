/**
 * Connections for tests: both ends of one, and one whose create waits for the store. And time for
 * tests: it passes when the test says so, however slow the machine is.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Logger } from '../../src/core/base/logger.ts';
import type { PetStore } from '../../src/core/pets/pet-store.ts';
import { LIMITS, type Limits } from '../../src/core/http/limits.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { openService, type Service } from '../support/http/service.ts';
import { CREATE, lastRequestOf } from '../support/http/requests.ts';
import { openWire, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

/** The log of a service that must log nothing. The service catches what a log throws at once. */
export const noLog: Logger = (...entry) => {
  setImmediate(() => assert.fail(JSON.stringify(entry)));
};

/** Opens a connection, and resolves with its two ends. */
export async function openBothSides(t: TestContext, { server, port }: Service) {
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const wire = await openWire(t, port);
  return { wire, serverSide: (await accepted)[0] };
}

/**
 * Sends a create, and more bytes after it. Resolves when the service has read all of them. Then
 * `release` lets the create go on.
 */
export async function holdCreate(t: TestContext, more: string, log: Logger = () => undefined) {
  const memory = createMemoryStore();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  const create: PetStore['create'] = async (pet) => {
    isHeld = true;
    await released;
    return memory.create(pet);
  };
  const service = await openService(t, { store: { ...memory, create }, log });
  const sides = await openBothSides(t, service);
  sides.wire.socket.write(CREATE + more);
  await until(() => isHeld);
  // It answers on a later connection.
  await talk(service.port, lastRequestOf('GET /livez'));
  return { ...sides, service, release };
}

/**
 * Stops the clock that the service reads, and its timers that repeat, until the test ends. `pass`
 * lets time pass at once.
 */
export function stopClock(t: TestContext) {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { clearInterval: clear } = globalThis;
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { clearInterval: clearMocked } = globalThis;
  t.mock.method(globalThis, 'clearInterval', (timer: NodeJS.Timeout) => {
    // It may be one of before.
    clear(timer);
    clearMocked(timer);
  });
  return {
    pass(ms: number): void {
      now += ms;
      t.mock.timers.tick(ms);
    },
  };
}

/** The limits in force, for a service on a clock that is stopped. */
export const IN_FORCE: Partial<Limits> = { ...LIMITS, connectionsCheckingInterval: 20 };

/**
 * Says what node:http finds late, since its own clock cannot be stopped: no request, or each one
 * that is not complete. Of a late one it tells the service once, at its next check.
 */
export function setLate({ server }: Service, isLate: boolean): void {
  server.headersTimeout = server.requestTimeout = isLate ? 1 : 0;
}
