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
    test(`After a create in progress, an expectation ${what} is met in its turn`, async (t) => {
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

  test('A body in chunks that is too large after the 100 is refused', async (t) => {
    const wire = await openWire(t, service.port);
    wire.socket.write(requestOf('POST /v1/pets', [EXPECT, CHUNKED]));
    await wire.until((text) => text !== '');
    wire.socket.write(`10001\r\n${' '.repeat(65_537)}\r\n0\r\n\r\n`);
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), [100, 413]);
    assertErrorAnswer(answers[1], 'body_too_large');
  });

  test('A client of HTTP/1.0 gets no 100, which it would take for the response', async (t) => {
    const wire = await openWire(t, service.port);
    const bytes = requestOf('POST /v1/pets', [EXPECT, REX_LENGTH]).replace('/1.1', '/1.0');
    wire.socket.write(bytes);
    await talk(service.port, lastRequestOf('GET /livez'));
    wire.socket.write(REX);
    assert.deepEqual(statusesOf(await wire.allAnswers()), [201]);
  });

  test('A request whose body is not read gets no 100', async () => {
    for (const line of ['GET /v1/pets', 'GET /livez', 'OPTIONS /v1/pets']) {
      const answers = await talk(service.port, lastRequestOf(line, [EXPECT]));
      assert.equal(answers.length, 1);
      assert.ok(answers[0]!.status < 300, line);
    }
  });

  test('A request after an expectation that was not met is not processed', async () => {
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

test('CONNECT is 405, the connection is closed, and bytes after it are not processed', async () => {
  const before = await (await service.fetch('/v1/pets')).text();
  const bytes = requestOf('CONNECT b:443') + requestOf('POST /v1/pets', [], REX);
  const [answer, ...more] = await talk(service.port, bytes);
  assert.deepEqual(more, []);
  assertErrorAnswer(answer, 'method_not_allowed');
  assert.equal(answer?.headers.get('allow'), '');
  assert.equal(answer?.headers.get('connection'), 'close');
  assert.equal(await (await service.fetch('/v1/pets')).text(), before);
});

const UPGRADE = ['Connection: keep-alive, Upgrade', 'Upgrade: websocket'];

for (const [line, body, more, status] of [
  ['GET /v1/pets', '', [], 200],
  ['HEAD /livez', '', ['Content-Length: 0'], 200],
  ['GET /v1/nothing', '', [], 404],
  ['POST /v1/pets', REX, [], 201],
  ['POST /v1/pets', `1d\r\n${REX}\r\n0\r\n\r\n`, [CHUNKED], 201],
  ['POST /v1/pets', '{}', [], 400],
] as const) {
  test(`Upgrade is ignored: ${[line, ...more].join(', ')} is ${status}, and the last`, async (t) => {
    const own = await openService(t);
    // What came in with the request is lost to node:http, so it must not count at all.
    const bytes =
      requestOf(line, [...UPGRADE, ...more], body) + requestOf('POST /v1/pets', [], REX);
    const answers = await talk(own.port, bytes, line.startsWith('HEAD'));
    assert.deepEqual(statusesOf(answers), [status]);
    assert.equal(answers[0]?.headers.get('connection'), 'close');
    const pets = status === 201 ? '[{"id":1,"name":"Rex","categoryId":1}]' : '[]';
    assert.equal(await (await own.fetch('/v1/pets')).text(), pets);
  });
}
