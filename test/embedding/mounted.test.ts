/** The listener in servers of other programs: plain, after middleware, mounted. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { test, type TestContext } from 'node:test';
import { KEY, listenFor, openService } from '../support/http/service.ts';

const HEADERS = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };

test('After a body parser, a POST is a 500, and the log has the reason', async (t) => {
  const logged: unknown[] = [];
  const { app } = await openService(t, {
    log: (_level, event, details) => logged.push([event, details]),
  });
  const host = await serve(t, (request, response) => {
    void request.toArray().then(() => app.listener(request, response));
  });
  for (const body of ['{"name":"Rex","categoryId":7}', 'x'.repeat(70_000)]) {
    const init = { method: 'POST', headers: HEADERS, body };
    const answer = await fetch(`http://${host}/v1/pets`, init);
    assert.equal(answer.status, body.length > 65_536 ? 413 : 500);
  }
  assert.equal((await fetch(`http://${host}/v1/pets`, { headers: HEADERS })).status, 200);
  assert.match(JSON.stringify(logged), /A request failed.*put the listener before any body parser/);
});

test('Mounted by Express at its prefix, the app serves; at another path, a 404 names the reason', async (t) => {
  const cases = [
    ['/shop', '/shop', '/v1/pets', false],
    ['', '/np', '/v1/pets', true],
    ['/shop', '/np', '/v1/pets?limit=1', true],
    ['/np', '/npc', '/v1/pets', true],
    ['/np', '/np', '/v1/pet', false],
    ['/np', '/NP', '/v1/pets', false],
    ['/np/shop', '/np', '/v1/pets', false],
    ['', '/v1', '/pet', false],
    ['', '/v1/pets', '/', false],
    ['', '', '/v1/pet', false],
  ] as const;
  for (const [prefix, mount, url, isTold] of cases) {
    const { app } = await openService(t, { prefix });
    const host = await serve(t, (request, response) => {
      Object.assign(request, { originalUrl: mount + url, url });
      app.listener(request, response);
    });
    const response = await fetch(`http://${host}/`, { headers: HEADERS });
    assert.equal(response.status, mount + url === `${prefix}/v1/pets` ? 200 : 404);
    const { message = '' } = (await response.json()) as { message?: string };
    const told = `: the listener is mounted at ${mount}, and its prefix must begin with that`;
    assert.equal(message.endsWith(told), isTold, `${mount} with ${prefix}: ${message}`);
  }
});

test('A wrapper of write that ignores its callback does not stop a long page', async (t) => {
  const { app } = await openService(t);
  for (let pet = 0; pet < 50; pet += 1) {
    await app.pets.create({ name: 'x'.repeat(10_000), categoryId: 1n });
  }
  const signal = AbortSignal.timeout(20_000);
  let ended: Promise<unknown> = Promise.resolve();
  // As the package compression of Express does.
  const host = await serve(t, (request, response) => {
    const write = response.write.bind(response) as (chunk: string, encoding: string) => boolean;
    response.write = (chunk: string, encoding: unknown) => write(chunk, encoding as string);
    ended = once(response, 'finish', { signal });
    app.listener(request, response);
  });
  const answer = await fetch(`http://${host}/v1/pets?limit=50`, { headers: HEADERS, signal });
  assert.equal(((await answer.json()) as unknown[]).length, 50);
  await ended;
});

/** Serves a listener with a plain server, and resolves with its host and port. */
async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  return `127.0.0.1:${await listenFor(t, createServer(listener))}`;
}
