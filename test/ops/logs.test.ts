/** The log: JSON lines that nothing in a request can forge, and request ids. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createJsonLog } from '../../src/ops/json-log.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, startService, type Service } from '../support/http/service.ts';
import { talk } from '../support/http/wire.ts';

interface LoggedService {
  readonly service: Service;
  /** The lines of the log so far, parsed. */
  entries(): Record<string, unknown>[];
  text(): string;
}

async function start(t: TestContext, options: object = {}): Promise<LoggedService> {
  const lines: string[] = [];
  const log = createJsonLog((line) => lines.push(line));
  const service = await startService({ log, accessLog: true, ...options });
  t.after(() => service.close());
  return {
    service,
    entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => lines.join('\n'),
  };
}

test('The access log is off by default, and answers then carry no request id', async (t) => {
  const { service, entries } = await start(t, { accessLog: false });
  const answer = await service.fetch('/v1/pets');
  assert.equal(answer.headers.get('x-request-id'), null);
  assert.deepEqual(entries(), []);
});

test('It has one line for each answer, and neither the query nor a key', async (t) => {
  const { service, entries, text } = await start(t);
  const answer = await service.fetch('/v1/pets?limit=3&token=secret');
  const body = await answer.text();
  const [entry, ...others] = entries();
  assert.deepEqual(others, []);
  const { time, durationMs, requestId, ...rest } = entry!;
  assert.deepEqual(rest, {
    level: 'info',
    event: 'Answered',
    method: 'GET',
    path: '/v1/pets',
    operation: 'listPets',
    key: '',
    status: 200,
    bytes: body.length,
  });
  assert.match(String(time), /^20[0-9]{2}-[0-9-]+T[0-9:.]+Z$/);
  assert.ok(Number(durationMs) >= 0);
  assert.equal(requestId, answer.headers.get('x-request-id'));
  assert.ok(!text().includes('secret'));
  assert.ok(!text().includes(KEY));
});

test('It has the name of the API key, and nothing where no key or no name was given', async (t) => {
  const apiKeys = ['plain', { key: 'secret-1', name: 'shop-2026' }];
  const { service, entries, text } = await start(t, { apiKeys });
  for (const key of ['secret-1', 'plain', 'wrong']) {
    await service.fetch('/v1/pets', { headers: { Authorization: `Bearer ${key}` } });
  }
  await service.fetch('/livez', { headers: { Authorization: 'Bearer secret-1' } });
  assert.deepEqual(
    entries().map(({ key }) => key),
    ['shop-2026', '', '', ''],
  );
  assert.ok(!text().includes('secret-1'));
});

for (const id of ['a', 'abc-123_X.y', 'x'.repeat(64)]) {
  test(`A client's request id that is short and plain is kept: ${id}`, async (t) => {
    const { service, entries } = await start(t);
    const answer = await service.fetch('/v1/pets', { headers: { 'X-Request-Id': id } });
    assert.equal(answer.headers.get('x-request-id'), id);
    assert.equal(entries()[0]!['requestId'], id);
  });
}

for (const id of ['x'.repeat(65), 'a b', 'a"b', 'a,b', '', 'é']) {
  test(`For any other one is made: ${JSON.stringify(id.slice(0, 10))}`, async (t) => {
    const { service } = await start(t);
    const answer = await service.fetch('/v1/pets', { headers: { 'X-Request-Id': id } });
    assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
  });
}

test('A body that HEAD leaves out has no bytes in the log', async (t) => {
  const { service, entries } = await start(t);
  await service.fetch('/v1/pets', { method: 'HEAD' });
  assert.equal(entries()[0]!['bytes'], 0);
});

test('A log that throws does not keep an answer back', async (t) => {
  const log = (): never => {
    throw new Error('The log is broken');
  };
  const { service } = await start(t, { log });
  assert.equal((await service.fetch('/v1/pets')).status, 200);
  assert.equal((await service.post({ name: 'Rex', categoryId: 7 })).status, 201);
  assert.equal((await service.fetch('/v1/none')).status, 404);
});

test('Errors carry the request id too', async (t) => {
  const { service, entries } = await start(t);
  const answer = await service.fetch('/v1/none', { headers: { Authorization: '' } });
  assert.equal(answer.status, 401);
  assert.equal(entries()[0]!['requestId'], answer.headers.get('x-request-id'));
});

test('Nothing in a request can forge a line', async (t) => {
  const { service, entries, text } = await start(t);
  const path = '/v1/"},{"level":"error"}\u2028%0a%0d\t\x7f';
  await talk(
    service.port,
    Buffer.from(`GET ${path.replace('\t', '')} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
  );
  assert.ok(text().split('\n').length <= 1, text());
  for (const { level } of entries()) assert.equal(level, 'info');
});

test('A text in the log has at most 4,096 characters, and an ellipsis where it was longer', () => {
  const lines: string[] = [];
  const log = createJsonLog((line) => lines.push(line));
  for (const length of [4096, 4097]) log('info', 'Told', { cause: 'x'.repeat(length) });
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { cause: string }).cause),
    ['x'.repeat(4096), `${'x'.repeat(4096)}…`],
  );
});

test('A failure of the service goes to the log with its cause and the request', async (t) => {
  const store = createMemoryStore();
  const broken = {
    ...store,
    list: () => {
      throw new Error('The cause\nof it all');
    },
  };
  const { service, entries } = await start(t, { store: broken });
  const answer = await service.fetch('/v1/pets?limit=3&token=secret');
  assert.equal(answer.status, 500);
  assert.ok(!(await answer.text()).includes('cause'));
  const failure = entries().find(({ level }) => level === 'error');
  assert.equal(failure?.['event'], 'A request failed');
  assert.match(String(failure['cause']), /The cause\nof it all/);
  assert.equal(failure['requestId'], answer.headers.get('x-request-id'));
  assert.equal(failure['path'], '/v1/pets');
});
