/** Retrying a create with an Idempotency-Key, over HTTP: each sentence of src/api/retries.md. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/model/pet-store.ts';
import { createMemoryStore } from '../../src/stores/memory-store.ts';
import { KEY, openService, startService, type Service } from '../support/http/service.ts';
import { lastRequestOf, talk } from '../support/http/wire.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const REX = '{"name":"Rex","categoryId":7,"status":"sold"}';
const REX_1 = '{"id":1,"name":"Rex","categoryId":7,"status":"sold"}';

async function startOnFile(t: TestContext): Promise<Service> {
  return openService(t, { dataFile: join(tempDir(t), 'pets.json') });
}

const keyed = (key: string): Record<string, string> => ({ 'Idempotency-Key': key });

/** What tells one answer from another: status, replay and body. */
async function told(response: Response): Promise<readonly [number, string | null, string]> {
  const replayed = response.headers.get('Idempotent-Replayed');
  return [response.status, replayed, await response.text()];
}

async function codeOf(response: Response): Promise<readonly [number, string]> {
  const { code, status } = (await response.json()) as { code: string; status: number };
  assert.equal(status, response.status);
  return [status, code];
}

test('The same key and pet get the same 201, body and Location, marked as replayed', async (t) => {
  const service = await startOnFile(t);
  const first = await service.post(REX, keyed('k'));
  assert.deepEqual(await told(first), [201, null, REX_1]);
  for (let retry = 0; retry < 3; retry += 1) {
    const again = await service.post(REX, keyed('k'));
    assert.equal(again.headers.get('Location'), '/v1/pets/1');
    assert.deepEqual(await told(again), [201, 'true', REX_1]);
  }
  assert.equal(await (await service.fetch('/v1/pets')).text(), `[${REX_1}]`);
});

test('Without the header each create stores a pet, and no answer is marked', async (t) => {
  const service = await startOnFile(t);
  for (const id of [1, 2]) {
    const [status, replayed, body] = await told(await service.post(REX));
    assert.deepEqual([status, replayed], [201, null]);
    assert.equal((JSON.parse(body) as { id: number }).id, id);
  }
});

const SAME_KEYS: readonly (readonly [one: string, other: string])[] = [
  ['k', '"k"'],
  ['a\\b', '"a\\\\b"'],
  ['a"b', '"a\\"b"'],
  ['x'.repeat(255), `"${'x'.repeat(255)}"`],
  ['!~', '"!~"'],
];

test('A key in quotes is the same key as without them', async (t) => {
  const service = await openService(t);
  for (const [one, other] of SAME_KEYS) {
    const [, , pet] = await told(await service.post(REX, keyed(one)));
    assert.deepEqual(await told(await service.post(REX, keyed(other))), [201, 'true', pet], other);
  }
});

test('Keys that differ in case or in a character are different keys', async (t) => {
  const service = await openService(t);
  for (const key of ['key', 'Key', 'key2', 'ke', 'k"ey"', 'key"']) {
    assert.equal((await told(await service.post(REX, keyed(key))))[1], null, key);
  }
});

const INVALID: readonly string[] = [
  ...['', 'a b', 'a\tb', '\u00e9', 'x'.repeat(256), '""', '"a b"', '"a\tb"', '"\u00e9"', '"a', '"'],
  ...['"a";p=1', '"a"b', '"a"b"', '"\\a"', '"a\\"'],
];

test('An invalid key is 400 invalid_idempotency_key, before the body is looked at', async (t) => {
  const service = await openService(t);
  for (const key of INVALID) {
    const answer = await service.post('{ no JSON', keyed(key));
    assert.deepEqual(await codeOf(answer), [400, 'invalid_idempotency_key'], key);
  }
});

test('Two lines of the header field are 400, even when they are alike', async (t) => {
  const service = await openService(t);
  const two = ['Idempotency-Key: k', 'idempotency-key: k'];
  const [answer] = await talk(service.port, lastRequestOf('POST /v1/pets', two, REX));
  assert.equal(answer?.status, 400);
  assert.match(
    answer?.body ?? '',
    /invalid_idempotency_key.*one Idempotency-Key header field, not 2/,
  );
});

test('An invalid key is told to those only who have an API key', async (t) => {
  const service = await openService(t);
  const answer = await service.post(REX, { ...keyed(''), Authorization: '' });
  assert.deepEqual(await codeOf(answer), [401, 'unauthorized']);
});

test('On any other request the header field is ignored', async (t) => {
  const service = await openService(t);
  await service.post(REX);
  for (const path of ['/v1/pets', '/v1/pets/1', '/livez', '/metrics']) {
    const answer = await service.fetch(path, { headers: keyed('not a key') });
    assert.equal(answer.status, 200, path);
  }
});

test('The key of one API key is not met by another', async (t) => {
  const service = await openService(t, { apiKeys: [KEY, 'other'] });
  await service.post(REX, keyed('k'));
  const other = await service.post(REX, { ...keyed('k'), Authorization: 'Bearer other' });
  const [status, replayed, body] = await told(other);
  assert.deepEqual([status, replayed], [201, null]);
  assert.match(body, /"id":2/);
});

test('An API key known by its digest has the same scope as in plain text', async (t) => {
  const digest = createHash('sha256').update(KEY).digest('hex');
  const service = await openService(t, { apiKeys: [`sha256:${digest}`] });
  await service.post(REX, keyed('k'));
  service.app.setApiKeys([KEY]);
  assert.equal((await told(await service.post(REX, keyed('k'))))[1], 'true');
});

const SAME_PETS: readonly string[] = [
  '{ "name" : "Rex",\n"categoryId":7, "status":"sold" }',
  '{"status":"sold","categoryId":7,"name":"Rex"}',
  '{"name":"\\u0052ex","categoryId":7,"status":"sold"}',
  '{"name":"Rex","categoryId":70e-1,"status":"sold"}',
  '{"name":"Rex","categoryId":7,"status":"sold","id":5,"age":1}',
];
const OTHER_PETS: readonly string[] = [
  '{"name":"rex","categoryId":7,"status":"sold"}',
  '{"name":"Rex","categoryId":8,"status":"sold"}',
  '{"name":"Rex","categoryId":7,"status":"pending"}',
  '{"name":"Rex","categoryId":7}',
];

test('A pet is the same however its JSON is written, and another is 422 and not stored', async (t) => {
  const service = await startOnFile(t);
  await service.post(REX, keyed('k'));
  for (const body of SAME_PETS) {
    assert.deepEqual(await told(await service.post(body, keyed('k'))), [201, 'true', REX_1], body);
  }
  for (const body of OTHER_PETS) {
    const answer = await service.post(body, keyed('k'));
    assert.deepEqual(await codeOf(answer), [422, 'idempotency_key_reused'], body);
  }
  assert.equal(await (await service.fetch('/v1/pets')).text(), `[${REX_1}]`);
});

test('Many requests with one key at once store one pet, and all get it; none gets 409', async (t) => {
  const service = await startOnFile(t);
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => told(await service.post(REX, keyed('k')))),
  );
  const replays = answers.filter(([status, replayed, body]) => {
    assert.deepEqual([status, body], [201, REX_1]);
    return replayed === 'true';
  });
  assert.equal(replays.length, 49);
});

test('A key that was refused with 4xx leaves nothing that a retry is stuck on', async (t) => {
  const service = await startOnFile(t);
  for (const body of ['{ no JSON', '{"name":"Rex"}', `"${'x'.repeat(70_000)}"`]) {
    assert.ok((await service.post(body, keyed('k'))).status >= 400);
  }
  assert.deepEqual(await told(await service.post(REX, keyed('k'))), [201, null, REX_1]);
});

test('A key that was refused with 503 leaves nothing that a retry is stuck on', async (t) => {
  const store = createMemoryStore();
  let isFull = true;
  const createOnce: typeof store.createOnce = async (pet, key) => {
    if (isFull) throw new StoreUnavailableError('The disk is full');
    return (await store.createOnce?.(pet, key)) ?? assert.fail();
  };
  const service = await openService(t, { store: { ...store, createOnce } });
  const refused = await service.post(REX, keyed('k'));
  assert.ok(refused.headers.has('Retry-After'));
  assert.deepEqual(await codeOf(refused), [503, 'unavailable']);
  isFull = false;
  assert.deepEqual(await told(await service.post(REX, keyed('k'))), [201, null, REX_1]);
});

test('A key whose outcome is unknown is 500 outcome_unknown', async (t) => {
  const createOnce = async (): Promise<never> => {
    throw new OutcomeUnknownError('Nobody can tell');
  };
  const service = await openService(t, { store: { ...createMemoryStore(), createOnce } });
  assert.deepEqual(await codeOf(await service.post(REX, keyed('k'))), [500, 'outcome_unknown']);
});

test('Where the store remembers no keys, one is 400 and never ignored', async (t) => {
  const { createOnce: _, ...store } = createMemoryStore();
  const service = await openService(t, { store });
  const answer = await service.post(REX, keyed('k'));
  assert.deepEqual(await codeOf(answer), [400, 'invalid_idempotency_key']);
  assert.equal(await (await service.fetch('/v1/pets')).text(), '[]');
  assert.equal((await service.post(REX)).status, 201);
});

test('A key is good through a stop, a checkpoint and a start', async (t) => {
  const dataFile = join(tempDir(t), 'pets.json');
  for (const replayed of [null, 'true', 'true']) {
    const service = await startService({ dataFile });
    assert.deepEqual(await told(await service.post(REX, keyed('k'))), [201, replayed, REX_1]);
    await service.close();
  }
});

test('The keys that are held are counted, and those that went before their time', async (t) => {
  const service = await startOnFile(t);
  for (const key of ['a', 'b', 'b']) await service.post(REX, keyed(key));
  const text = await (await service.fetch('/metrics')).text();
  assert.match(text, /^petstore_store_idempotency_keys 2$/m);
  assert.match(text, /^petstore_store_evicted_idempotency_keys_total 0$/m);
});

test('A page from elsewhere may send a key, and sees whether it was replayed', async (t) => {
  const origin = 'https://shop.example';
  const service = await openService(t, { corsOrigins: [origin] });
  const preflight = await service.fetch('/v1/pets', {
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'POST', Authorization: '' },
  });
  assert.match(preflight.headers.get('Access-Control-Allow-Headers') ?? '', /\bIdempotency-Key\b/);
  const answer = await service.post(REX, { ...keyed('k'), Origin: origin });
  const exposed = answer.headers.get('Access-Control-Expose-Headers') ?? '';
  for (const name of ['Idempotent-Replayed', 'WWW-Authenticate', 'Allow']) {
    assert.ok(exposed.split(', ').includes(name), name);
  }
});
