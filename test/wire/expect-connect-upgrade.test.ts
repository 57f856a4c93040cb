/** What asks for more than an answer: Expect, CONNECT and Upgrade. */

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { holdCreate } from './connections.ts';
import { openService } from '../support/http/service.ts';
import {
  CHUNKED,
  CREATE,
  LIVEZ,
  REX,
  REX_1,
  lastRequestOf,
  requestOf,
} from '../support/http/requests.ts';
import { openWire, statusesOf, talk } from '../support/http/wire.ts';
import { until } from '../support/until.ts';

const service = await openService({ after });

const REX_LENGTH = `Content-Length: ${REX.length}`;
const EXPECT = 'Expect: 100-continue';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

describe('Expect', () => {
  for (const [what, fields, body] of [
    ['of a known length', [REX_LENGTH], REX],
    ['in chunks', [CHUNKED], `1d\r\n${REX}\r\n0\r\n\r\n`],
    ['asked for three times,', [REX_LENGTH, `${EXPECT.toLowerCase()} , 100-continue`], REX],
  ] as const) {
    test(`100 comes before a body ${what}, 201 after it, and the connection stays`, async (t) => {
      const wire = await openWire(t, service.port);
      wire.socket.write(requestOf('POST /v1/pets', [EXPECT, ...fields]));
      await until(() => wire.text() !== '');
      assert.equal(wire.text(), CONTINUE);
      wire.socket.write(body + lastRequestOf('GET /livez'));
      assert.deepEqual(statusesOf(await wire.allAnswers()), [100, 201, 200]);
    });
  }

  for (const [what, sooner, later] of [
    ['that comes with its body', REX, ''],
    ['that waits with its body', '', REX],
  ] as const) {
    test(`After a create in progress, an expectation ${what} is met in its turn`, async (t) => {
      const expecting = requestOf('POST /v1/pets', [EXPECT, REX_LENGTH]) + sooner;
      const { wire, release } = await holdCreate(t, expecting);
      assert.equal(wire.text(), '');
      release();
      assert.deepEqual(statusesOf(await wire.answers(2)).slice(0, 2), [201, 100]);
      wire.socket.write(later + lastRequestOf('GET /livez'));
      const answers = await wire.allAnswers();
      assert.deepEqual(statusesOf(answers), [201, 100, 201, 200]);
      assert.equal(answers[2]?.body, '{"id":2,"name":"Rex","categoryId":1}');
    });
  }

  test('A client of HTTP/1.0 gets no 100, which it would take for the response', async (t) => {
    const wire = await openWire(t, service.port);
    const bytes = requestOf('POST /v1/pets', [EXPECT, REX_LENGTH]).replace('/1.1', '/1.0');
    wire.socket.write(bytes);
    await talk(service.port, lastRequestOf('GET /livez'));
    wire.socket.write(REX);
    assert.deepEqual(statusesOf(await wire.allAnswers()), [201]);
  });
});

const UPGRADE = ['Connection: keep-alive, Upgrade', 'Upgrade: websocket'];

/** Requests whose response is the last of its connection, and its status. */
const LAST: readonly (readonly [what: string, bytes: string, status: number])[] = [
  ['with Connection: close', lastRequestOf('GET /livez'), 200],
  ['that expects 100 for no body', requestOf('GET /livez', [EXPECT]), 200],
  ['with an early response', requestOf('POST /v1/pets', ['Content-Type: a/b'], REX), 415],
  ['of CONNECT', requestOf('CONNECT b:443'), 405],
  ...['Connection', 'proxy-connection'].map(
    (name) =>
      [
        `with ${name} in its trailer`,
        requestOf('POST /v1/pets', [CHUNKED], `1d\r\n${REX}\r\n0\r\n${name}: close\r\n\r\n`),
        201,
      ] as const,
  ),
  // What comes in with a request to upgrade is lost to node:http, so it must not count at all.
  ['to upgrade a GET', requestOf('GET /v1/pets', UPGRADE), 200],
  ['to upgrade a create', requestOf('POST /v1/pets', UPGRADE, REX), 201],
];

for (const [what, bytes, status] of LAST) {
  test(`The response to a request ${what} is ${status}, and what follows is not processed`, async (t) => {
    const own = await openService(t);
    const answers = await talk(own.port, bytes + CREATE.repeat(3));
    assert.deepEqual(statusesOf(answers), [status]);
    assert.equal(answers[0]?.headers.get('connection'), 'close');
    assert.equal(answers[0]?.headers.get('allow'), status === 405 ? '' : undefined);
    assert.equal(await (await own.fetch('/v1/pets')).text(), status === 201 ? `[${REX_1}]` : '[]');
  });
}

for (const [what, sooner, later] of [
  ['that comes with its body', REX + LIVEZ, ''],
  ['that comes in two parts', REX.slice(0, 9), REX.slice(9) + LIVEZ],
] as const) {
  test(`After a create in progress, a create to upgrade ${what} is stored in its turn`, async (t) => {
    const upgrade = requestOf('POST /v1/pets', [...UPGRADE, REX_LENGTH]) + sooner;
    const { wire, release } = await holdCreate(t, upgrade);
    assert.equal(wire.text(), '');
    wire.socket.write(later);
    release();
    const answers = await wire.allAnswers();
    assert.deepEqual(statusesOf(answers), [201, 201]);
    assert.equal(answers[1]?.body, '{"id":2,"name":"Rex","categoryId":1}');
  });
}
