/** Connections for tests: both ends of one, and one whose create waits for the store. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Logger } from '../../src/base/logger.ts';
import type { Limits } from '../../src/http/limits.ts';
import type { PetStore } from '../../src/model/pet-store.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
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
export async function holdCreate(
  t: TestContext,
  more: string,
  limits: Partial<Limits> = {},
  log: Logger = () => undefined,
) {
  const memory = createMemoryStore();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  const create: PetStore['create'] = async (pet) => {
    isHeld = true;
    await released;
    return memory.create(pet);
  };
  const service = await openService(t, { store: { ...memory, create }, log }, limits);
  const sides = await openBothSides(t, service);
  sides.wire.socket.write(CREATE + more);
  await until(() => isHeld);
  // It answers on a later connection.
  await talk(service.port, lastRequestOf('GET /livez'));
  return { ...sides, service, release };
}
