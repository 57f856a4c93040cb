/** The request body: which Content-Types are JSON, and that there is only one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../support/http/service.ts';
import { lastRequestOf, statusesOf, talk } from '../support/http/wire.ts';

const BODY = '{"name":"Rex","categoryId":1}';

test('A body that is not UTF-8 is told with the byte', async (t) => {
  const service = await startService();
  t.after(() => service.close());
  const body = Buffer.from('{"name":"R\xe9x","categoryId":1}', 'latin1');
  assert.deepEqual(await (await service.post(body)).json(), {
    code: 'invalid_json',
    message: 'The body is not valid UTF-8 at byte 10',
    status: 400,
  });
});

const CASES: readonly (readonly [status: number, ...contentTypes: string[]])[] = [
  [201],
  [201, 'application/json'],
  [201, 'Application/JSON ; charset="utf-8, or so"'],
  [201, 'application/json;charset="a\\"b"'],
  [415, 'application/jsonp'],
  [415, 'application/json, text/plain'],
  [415, 'application/json', 'application/json'],
  [415, 'application/json; charset=utf-8', 'text/plain'],
  [415, 'text/plain', 'application/json'],
];

for (const [status, ...contentTypes] of CASES) {
  test(`The Content-Types ${JSON.stringify(contentTypes)} are ${status}`, async (t) => {
    const service = await startService();
    t.after(() => service.close());
    const fields = contentTypes.map((type) => `Content-Type: ${type}`);
    const answers = await talk(service.port, lastRequestOf('POST /v1/pets', fields, BODY));
    assert.deepEqual(statusesOf(answers), [status]);
  });
}
