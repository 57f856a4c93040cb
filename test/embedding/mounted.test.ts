/** The listener in servers of other programs: plain, https, after middleware, mounted. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer, request as tlsRequest } from 'node:https';
import { connect } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { stopServer } from '../../src/http/stop-server.ts';
import { CERTIFICATE_PEM, KEY_PEM } from '../support/process/certificate.ts';
import { HEADERS, KEY, listen, openMemoryApp, serve } from './program.ts';

test('A plain server serves a client that waits for 100 Continue', async (t) => {
  const { listener } = await openMemoryApp(t);
  const host = await serve(t, listener);
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    WAITING_CLIENT,
    host,
  ]);
  assert.equal(stdout.trim(), '201 {"id":1,"name":"Rex","categoryId":7}');
});

const WAITING_CLIENT = `
  import { request } from 'node:http';
  const call = request('http://' + process.argv[1] + '/v1/pets', {
    method: 'POST',
    headers: { Authorization: 'Bearer ${KEY}', Expect: '100-continue', 'Content-Length': 29 },
  });
  call.flushHeaders();
  call.once('continue', () => call.end('{"name":"Rex","categoryId":7}'));
  call.on('response', async (answer) => {
    console.log(answer.statusCode, (await answer.toArray()).join(''));
  });`;

test('An https server serves the app', async (t) => {
  const { listener } = await openMemoryApp(t);
  const server = createTlsServer({ key: KEY_PEM, cert: CERTIFICATE_PEM }, listener);
  const host = await listen(t, server as unknown as Server);
  const call = tlsRequest(`https://${host}/v1/pets`, { ca: CERTIFICATE_PEM, headers: HEADERS });
  call.end();
  const [answer] = (await once(call, 'response')) as [IncomingMessage];
  assert.equal(answer.statusCode, 200);
  assert.equal((await answer.toArray()).join(''), '[]');
});

test('A graceful shutdown of a plain server closes a connection with half a request', async (t) => {
  const { listener } = await openMemoryApp(t);
  const server = createServer(listener);
  const host = await listen(t, server);
  const client = connect(Number(host.split(':')[1]), '127.0.0.1');
  const head = `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n`;
  client.write(`${head}Content-Length: 9\r\n\r\n{`);
  await once(server, 'request');
  await Promise.all([stopServer(server, 50), once(client, 'close')]);
});

test('After a body parser, a POST is a 500, and the log has the reason', async (t) => {
  const logged: unknown[] = [];
  const app = await openMemoryApp(t, {
    log: (_level, event, details) => logged.push([event, details]),
  });
  const host = await serve(t, (request, response) => {
    void request.toArray().then(() => app.listener(request, response));
  });
  for (const body of ['{"name":"Rex","categoryId":7}', 'x'.repeat(70_000)]) {
    const init = { method: 'POST', headers: { ...HEADERS, 'Content-Type': 'application/json' } };
    const answer = await fetch(`http://${host}/v1/pets`, { ...init, body });
    assert.equal(answer.status, body.length > 65_536 ? 413 : 500);
  }
  assert.equal((await fetch(`http://${host}/v1/pets`, { headers: HEADERS })).status, 200);
  assert.match(JSON.stringify(logged), /A request failed.*put the listener before any body parser/);
});

test('Mounted by Express at its prefix, the app has the prefix in its links', async (t) => {
  const app = await openMemoryApp(t, { prefix: '/shop' });
  await app.pets.create({ name: 'Rex', categoryId: 7n });
  await app.pets.create({ name: 'Tom', categoryId: 7n });
  const host = await serve(t, (request, response) => {
    // What app.use('/shop', listener) does.
    Object.assign(request, { originalUrl: request.url, baseUrl: '/shop' });
    request.url = request.url!.slice('/shop'.length);
    app.listener(request, response);
  });
  const list = await fetch(`http://${host}/shop/v1/pets?limit=1`, { headers: HEADERS });
  assert.equal(list.status, 200);
  assert.equal(list.headers.get('Link'), '</shop/v1/pets?limit=1&after=1>; rel="next"');
});

test('Mounted by Express at another path, the app responds with 404 and the reason', async (t) => {
  const cases = [
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
    const app = await openMemoryApp(t, { prefix });
    const host = await serve(t, (request, response) => {
      Object.assign(request, { originalUrl: mount + url, url });
      app.listener(request, response);
    });
    const response = await fetch(`http://${host}/`, { headers: HEADERS });
    const { message } = (await response.json()) as { message: string };
    assert.equal(response.status, 404);
    const told = `: the listener is mounted at ${mount}, and its prefix must begin with that`;
    assert.equal(message.endsWith(told), isTold, `${mount} with ${prefix}: ${message}`);
  }
});

test('A status that the host has set, as Koa does, does not change the response', async (t) => {
  const app = await openMemoryApp(t);
  const host = await serve(t, (request, response) => {
    response.statusCode = 404;
    app.listener(request, response);
  });
  assert.equal((await fetch(`http://${host}/v1/pets`, { headers: HEADERS })).status, 200);
  assert.equal((await fetch(`http://${host}/v1/pets`)).status, 401);
});

test('A wrapper of write that ignores its callback does not stop a long page', async (t) => {
  const app = await openMemoryApp(t);
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
