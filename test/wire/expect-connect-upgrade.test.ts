/** What asks for more than an answer: Expect, CONNECT and Upgrade. */

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createHeldStore } from '../support/pets/held-store.ts';
import { openService } from '../support/http/service.ts';
import {
  assertErrorAnswer,
  lastRequestOf,
  openWire,
  requestOf,
  statusesOf,
  talk,
} from '../support/http/wire.ts';

const service = await openService({ after });

const REX = '{"name":"Rex","categoryId":1}';
const REX_LENGTH = `Content-Length: ${REX.length}`;
const CHUNKED = 'Transfer-Encoding: chunked';
const EXPECT = 'Expect: 100-continue';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

describe('Expect', () => {
  for (const [what, fields, body] of [
    ['of a known length', [REX_LENGTH], REX],
    ['in chunks', [CHUNKED], `1d\r\n${REX}\r\n0\r\n\r\n`],
    ['of a known length, asked for on two lines,', [REX_LENGTH, EXPECT.toLowerCase()], REX],
    ['of a known length, asked for twice,', [REX_LENGTH, `${EXPECT} , 100-continue`], REX],
  ] as const) {
    test(`100 comes before a body ${what}, 201 after it, and the connection stays`, async (t) => {
      const wire = await openWire(t, service.port);
      wire.socket.write(requestOf('POST /v1/pets', [EXPECT, ...fields]));
      assert.equal(await wire.until((text) => text !== ''), CONTINUE);
      wire.socket.write(body + lastRequestOf('GET /livez'));
      assert.deepEqual(statusesOf(await wire.allAnswers()), [100, 201, 200]);
    });
  }

  for (const [what, sooner, later] of [
    ['that comes with its body', REX, ''],
    ['that waits with its body', '', REX],
  ] as const) {
    test(`Behind a create under way, an expectation ${what} is met in its turn`, async (t) => {
      const store = createHeldStore();
      const own = await openService(t, { store });
      const wire = await openWire(t, own.port);
      const expecting = requestOf('POST /v1/pets', [EXPECT, REX_LENGTH]) + sooner;
      wire.socket.write(requestOf('POST /v1/pets', [], REX) + expecting);
      await store.waiting();
      await talk(own.port, lastRequestOf('GET /livez'));
      assert.equal(wire.text(), '');
      store.release();
      assert.deepEqual(statusesOf(await wire.answers(2)).slice(0, 2), [201, 100]);
      wire.socket.write(later + lastRequestOf('GET /livez'));
      const answers = await wire.allAnswers();
      assert.deepEqual(statusesOf(answers), [201, 100, 201, 200]);
      assert.equal(answers[2]?.body, '{"id":2,"name":"Rex","categoryId":1}');
    });
  }

  test('A client that goes away before it is asked for its body harms nobody', async (t) => {
    const store = createHeldStore();
    const own = await openService(t, { store });
    const wire = await openWire(t, own.port);
    const expecting = requestOf('POST /v1/pets', [EXPECT, REX_LENGTH]);
    wire.socket.write(requestOf('POST /v1/pets', [], REX) + expecting);
    await store.waiting();
    wire.socket.destroy();
    store.release();
    await talk(own.port, lastRequestOf('GET /livez'));
    const pets = await (await own.fetch('/v1/pets')).text();
    assert.equal(pets, '[{"id":1,"name":"Rex","categoryId":1}]');
  });

  test('A body in chunks that is too large after the 100 is refused', async (t) => {
    const wire = await openWire(t, service.port);
    wire.socket.write(requestOf('POST /v1/pets', [EXPECT, CHUNKED]));
    await wire.until((text) => text !== '');
    wire.socket.write(`10001\r\n${' '.repeat(65_537)}\r\n0\r\n\r\n`);
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), [100, 413]);
    assertErrorAnswer(answers[1], 'body_too_large');
  });

  test('A client of HTTP/1.0 gets no 100: it would take it for the answer', async (t) => {
    const wire = await openWire(t, service.port);
    const bytes = requestOf('POST /v1/pets', [EXPECT, REX_LENGTH]).replace('/1.1', '/1.0');
    wire.socket.write(bytes);
    await talk(service.port, lastRequestOf('GET /livez'));
    wire.socket.write(REX);
    assert.deepEqual(statusesOf(await wire.allAnswers()), [201]);
  });

  test('Where no body is read there is no 100', async () => {
    for (const line of ['GET /v1/pets', 'GET /livez', 'OPTIONS /v1/pets']) {
      const answers = await talk(service.port, lastRequestOf(line, [EXPECT]));
      assert.equal(answers.length, 1);
      assert.ok(answers[0]!.status < 300, line);
    }
  });

  test('What comes behind an expectation that was not met is not processed', async () => {
    const before = await (await service.fetch('/v1/pets?limit=100')).text();
    const create = requestOf('POST /v1/pets', [], REX);
    const answers = await talk(service.port, requestOf('GET /livez', [EXPECT]) + create);
    assert.deepEqual(statusesOf(answers), [200]);
    assert.equal(answers[0]?.headers.get('connection'), 'close');
    assert.equal(await (await service.fetch('/v1/pets?limit=100')).text(), before);
  });

  for (const value of ['100', '100-continued', '100-continue, x', 'x=100-continue', '']) {
    test(`Expect: ${value} is 417`, async () => {
      const request = lastRequestOf('POST /v1/pets', [`Expect: ${value}`], REX);
      const answers = await talk(service.port, request);
      assert.equal(answers.length, 1);
      assertErrorAnswer(answers[0], 'expectation_failed');
    });
  }
});

describe('CONNECT', () => {
  for (const target of ['b:443', '127.0.0.1:22', 'b', '/v1/pets', 'http://b/']) {
    test(`CONNECT ${target} is 405, and the connection is closed`, async () => {
      const [answer, ...more] = await talk(service.port, requestOf(`CONNECT ${target}`));
      assert.deepEqual(more, []);
      if (answer?.status === 400) return assertErrorAnswer(answer, 'malformed_request');
      assertErrorAnswer(answer, 'method_not_allowed');
      assert.equal(answer?.headers.get('allow'), '');
      assert.equal(answer?.headers.get('connection'), 'close');
    });
  }

  test('What follows CONNECT is not taken for a request', async () => {
    const before = await (await service.fetch('/v1/pets')).text();
    const create = requestOf('POST /v1/pets', [], REX);
    const answers = await talk(service.port, requestOf('CONNECT b:443') + create);
    assert.deepEqual(statusesOf(answers), [405]);
    assert.equal(await (await service.fetch('/v1/pets')).text(), before);
  });
});

describe('Upgrade is ignored, and the connection closed after the answer', () => {
  const H2C = ['Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
  const WEBSOCKET = ['Upgrade: websocket', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'];
  for (const [what, fields] of [
    ['h2c', ['Connection: Upgrade, HTTP2-Settings', ...H2C]],
    ['websocket', ['Connection: Upgrade', ...WEBSOCKET]],
    ['TLS', ['Connection: keep-alive, upgrade', 'Upgrade: TLS/1.2']],
  ] as const) {
    for (const [line, body, more, status] of [
      ['GET /v1/pets?limit=1', '', [], 200],
      ['HEAD /livez', '', ['Content-Length: 0'], 200],
      ['GET /v1/nothing', '', [], 404],
      ['POST /v1/pets', REX, [], 201],
      ['POST /v1/pets', `1d\r\n${REX}\r\n0\r\n\r\n`, [CHUNKED], 201],
      ['POST /v1/pets', '{}', [], 400],
    ] as const) {
      test(`${what}: ${[line, ...more].join(', ')} is ${status}`, async (t) => {
        const count = async (): Promise<unknown> => {
          const text = await (await service.fetch('/metrics')).text();
          return Number(/^petstore_pets\{status=""\} ([0-9]+)$/m.exec(text)?.[1]);
        };
        const before = await count();
        const request = requestOf(line, [...fields, ...more], body);
        // What came in with the request is lost to node:http, so it must not count at all.
        const wire = await openWire(t, service.port);
        wire.socket.write(request + requestOf('POST /v1/pets', [], REX));
        const text = await wire.until((all) => all.includes('\r\n\r\n'));
        assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.match(text, /\r\nConnection: close\r\n/);
        await wire.until((all) => !all.includes('HTTP/1.1 ', 9) && wire.socket.readableEnded);
        const expected = Number(before) + (status === 201 ? 1 : 0);
        assert.equal(await count(), expected);
      });
    }
  }
});
