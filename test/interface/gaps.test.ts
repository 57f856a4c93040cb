/**
 * The gaps of the interface: each thing that it leaves open, and what this service does there.
 *
 * The rule behind them all: refuse exactly what the interface declares invalid, and nothing more;
 * never change what a client sent. The tests follow the README's table of gaps, row by row; what
 * needs a clock or a limit is in own-service.test.ts.
 */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { fieldsOf, idsOf, integerOf, type Answer } from './client.ts';
import { assertError, STATUS_OF_CODE, type Code } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();

describe('limit not an integer, outside 1..100, empty, or given twice', () => {
  const refused = [
    ...['limit=', 'limit', 'limit=abc', 'limit=1.5', 'limit=5.0', 'limit=1e1', 'limit=0x10'],
    ...['limit=+5', 'limit=%2B5', 'limit=%205', 'limit=5%20', 'limit=5%0A', 'limit=-5'],
    ...['limit=0', 'limit=-0', 'limit=00', 'limit=101', 'limit=1,2', 'limit=NaN', 'limit=Infinity'],
    ...['limit=%D9%A5', 'limit=5_0', 'limit=1000000000000000000000000000005', 'l%69mit=0'],
    ...['limit=5&limit=6', 'limit=5&limit=5', 'limit=5&limit=', 'limi%74=5&limit=5'],
  ];
  for (const query of refused) {
    test(`400, nothing is clamped: ${query}`, async () => {
      assert.match(assertError(await client.get(`/pets?${query}`), 'invalid_parameter'), /^limit /);
    });
  }

  for (const query of ['limit=3', 'limit=003', 'limit=%33', '&limit=3&', 'l%69mit=3']) {
    test(`Plain decimal digits count as an integer: ${query}`, async () => {
      const { id } = await client.add({ name: '1', categoryId: 1 });
      for (const name of ['2', '3', '4']) await client.add({ name, categoryId: 1 });
      const { text } = await client.get(`/pets?after=${id - 1n}&${query}`);
      assert.deepEqual(idsOf(text), [id, id + 1n, id + 2n]);
    });
  }
});

describe('status unknown, empty, or given twice', () => {
  const refused = [
    ...['status=', 'status', 'status=lost', 'status=Sold', 'status=SOLD', 'status=%20sold'],
    ...['status=sold+', 'status=sold,pending', 'status=null', 'status=%22sold%22', 'status=%00'],
    ...['status=sold&status=sold', 'status=sold&status=pending', 'status=sold&st%61tus=pending'],
  ];
  for (const query of refused) {
    test(`400; case matters: ${query}`, async () => {
      const message = assertError(await client.get(`/pets?${query}`), 'invalid_parameter');
      assert.match(message, /^status /);
    });
  }
});

describe('other query parameters', () => {
  const ignored = ['x=1', 'Limit=0', 'LIMIT=0', 'limit[]=0', 'status[]=x', 'page=2', 'offset=1'];
  const odd = ['=', '=0', '&&', 'x', 'x=1&x=2', '?limit=0', 'a=b=c', ' limit=0', '__proto__=1'];
  for (const query of [...ignored, ...odd]) {
    test(`Ignored: ${query}`, async () => {
      const { id, answer } = await client.add({ name: 'Rex', categoryId: 1 });
      const found = await client.get(`/pets?after=${id - 1n}&${query.replace(' ', '%20')}`);
      assert.equal(found.text, `[${answer.text}]`);
    });
  }

  test('Ignored by the operations that take none', async () => {
    const query = '?limit=0&status=lost&after=x';
    const body = '{"name":"Rex","categoryId":1}';
    const added = await client.send('POST', `/pets${query}`, {}, body);
    assert.equal(added.status, 201);
    const found = await client.get(`/pets/${integerOf(added.text, 'id')}${query}`);
    assert.equal(found.text, added.text);
  });
});

test('order of the list: ascending id', async () => {
  const names = ['c', 'a', 'b', 'a'];
  const pets = await Promise.all(names.map((name) => client.add({ name, categoryId: 9 })));
  const sorted = pets.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1));
  assert.deepEqual(idsOf((await client.listFrom(sorted[0]!)).text), sorted);
});

describe('pagination beyond limit', () => {
  const ids: bigint[] = [];
  before(async () => {
    for (let i = 0; i < 46; i += 1) {
      const status = i % 2 === 0 ? 'sold' : undefined;
      ids.push((await client.add({ name: `Page ${i}`, categoryId: i, status })).id);
    }
  });

  /** The address in the answer's Link to the next page, below the base address. */
  function nextPath(answer: Answer): string | undefined {
    const link = answer.headers.get('Link');
    if (link === null) return undefined;
    const match = /^<\/v1(\/pets\?[^<>\s]*)>; rel="next"$/.exec(link);
    assert.ok(match !== null, `Not a link to the next page: ${link}`);
    return match[1]!;
  }

  /** Follows the links from one page to the last. */
  async function pages(path: string): Promise<readonly (readonly bigint[])[]> {
    const found: (readonly bigint[])[] = [];
    for (let next: string | undefined = path; next !== undefined;) {
      const answer = await client.get(next);
      assert.equal(answer.status, 200);
      assert.ok(Array.isArray(JSON.parse(answer.text)), 'The body stays a plain array');
      found.push(idsOf(answer.text));
      next = nextPath(answer);
    }
    return found;
  }

  const chunks = (all: readonly bigint[], size: number): readonly (readonly bigint[])[] =>
    Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
      all.slice(i * size, (i + 1) * size),
    );

  test('When more pets match, Link rel="next" leads to them, page by page', async () => {
    assert.deepEqual(await pages(`/pets?after=${ids[0]! - 1n}`), chunks(ids, 20));
  });

  test('The link keeps limit', async () => {
    assert.deepEqual(await pages(`/pets?after=${ids[0]! - 1n}&limit=7`), chunks(ids, 7));
  });

  test('The link keeps limit and status', async () => {
    const sold = ids.filter((_id, i) => i % 2 === 0);
    const path = `/pets?status=sold&limit=4&after=${ids[0]! - 1n}`;
    assert.deepEqual(await pages(path), chunks(sold, 4));
    const next = new URL(nextPath(await client.get(path))!, 'http://host');
    assert.equal(next.searchParams.get('limit'), '4');
    assert.equal(next.searchParams.get('status'), 'sold');
    assert.equal(next.searchParams.get('after'), String(sold[3]));
    assert.match(next.search, /&after=[0-9]+$/);
  });

  test('There is no link when no more pets match, at the very end of the list too', async () => {
    const exact = await client.get(`/pets?after=${ids[0]! - 1n}&limit=46`);
    assert.equal(idsOf(exact.text).length, 46);
    assert.equal(exact.headers.get('Link'), null);
    // One more pet follows, which the filter leaves out.
    const sold = await client.get(`/pets?after=${ids[40]}&limit=2&status=sold`);
    assert.deepEqual(idsOf(sold.text), [ids[42], ids[44]]);
    assert.equal(sold.headers.get('Link'), null);
  });

  test('HEAD has the same link', async () => {
    const path = `/pets?after=${ids[0]! - 1n}&limit=2`;
    const head = await client.send('HEAD', path);
    assert.equal(head.headers.get('Link'), (await client.get(path)).headers.get('Link'));
    assert.ok(nextPath(head) !== undefined);
  });

  test('after: only pets with a greater id', async () => {
    assert.deepEqual(idsOf((await client.get(`/pets?after=${ids[44]}`)).text), [ids[45]]);
    for (const after of [ids[45], 2n ** 63n - 1n]) {
      assert.equal((await client.get(`/pets?after=${after}`)).text, '[]');
    }
    const all = await client.get('/pets');
    for (const after of ['0', '-0', '-1', '-9223372036854775808']) {
      assert.equal((await client.get(`/pets?after=${after}`)).text, all.text);
    }
  });

  const noInt64 = ['', 'x', '1.0', '1e2', '+1', '%2B1', '%201', '0x1', '9223372036854775808'];
  for (const after of [...noInt64, '-9223372036854775809', '9'.repeat(30), '1&after=2', '-']) {
    test(`An after that is no int64 is 400: ${after}`, async () => {
      const message = assertError(await client.get(`/pets?after=${after}`), 'invalid_parameter');
      assert.match(message, /^after /);
    });
  }
});

describe('limits on name', () => {
  const names: readonly [what: string, json: string][] = [
    ['the empty one', '""'],
    ['a space', '" "'],
    ['NUL as an escape', '"a\\u0000b"'],
    ['NUL alone', '"\\u0000"'],
    ['a lone high surrogate', '"\\ud800"'],
    ['a lone low surrogate', '"x\\uDFFFy"'],
    ['surrogates in the wrong order', '"\\udc00\\ud800"'],
    ['a pair of surrogates as escapes', '"\\uD83D\\uDE00"'],
    ['a 4-byte character', '"😀𐍈\u{10ffff}"'],
    ['3-byte and 2-byte characters', '"ÿ€\ufffd\u2028\u2029\ufeff"'],
    ['every short escape', '"\\"\\\\\\/\\b\\f\\n\\r\\t"'],
    ['characters that need no escape, escaped', '"\\u0052\\u0065\\u0078"'],
    ['a letter and a combining accent, not composed', '"e\u0301"'],
    ['DEL and C1 controls', '"\u007f\u0080\u009f"'],
    ['digits beyond a double', `"${'1234567890'.repeat(10)}"`],
    ['what looks like a number', '"1e400"'],
    ['what looks like JSON', '"{\\"id\\":5,\\"name\\":9007199254740993}"'],
    ['what looks like a pet', '"\\",\\"categoryId\\":9,\\"id\\":0}"'],
    ['the name of a prototype', '"__proto__"'],
    ['white space around', '"\\n Rex\\t "'],
    ['60,000 letters', `"${'n'.repeat(60_000)}"`],
    ['60,000 bytes of 4-byte characters', `"${'😀'.repeat(15_000)}"`],
    ['10,000 escapes', `"${'\\u0000'.repeat(10_000)}"`],
  ];
  for (const [what, json] of names) {
    test(`None, a name is returned character for character: ${what}`, async () => {
      const { id, answer } = await client.add(`{"name":${json},"categoryId":1}`);
      const name = JSON.parse(json) as string;
      assert.equal(fieldsOf(answer)['name'], name);
      assert.equal(fieldsOf(await client.get(`/pets/${id}`))['name'], name);
      assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
    });
  }
});

describe('int64', () => {
  const exact: readonly [literal: string, value: string][] = [
    ['1.0', '1'],
    ['1e2', '100'],
    ['1E+2', '100'],
    ['100e-2', '1'],
    ['12.50e1', '125'],
    ['-0', '0'],
    ['-0.0e-5', '0'],
    ['0e999999999999', '0'],
    ['0.000e-999999999999', '0'],
    ['-1.0', '-1'],
    ['10000000000000000000e-1', '1000000000000000000'],
    ['0.9007199254740993e16', '9007199254740993'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['9007199254740993.0', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['9223372036854775807.000', '9223372036854775807'],
    ['9.223372036854775807e18', '9223372036854775807'],
    ['9223372036854775806', '9223372036854775806'],
    ['-9223372036854775807', '-9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['-92233720368547758080e-1', '-9223372036854775808'],
    [`1.${'0'.repeat(1000)}`, '1'],
    [`1${'0'.repeat(1000)}e-1000`, '1'],
    [`0.${'0'.repeat(1000)}7e1001`, '7'],
  ];
  for (const [literal, value] of exact) {
    test(`${literal.slice(0, 40)} is the integer ${value}, in and out`, async () => {
      const { id, answer } = await client.add(`{"name":"Rex","categoryId":${literal}}`);
      assert.equal(integerOf(answer.text, 'categoryId').toString(), value);
      assert.equal((await client.get(`/pets/${id}`)).text, answer.text);
      assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
    });
  }

  const refused = [
    ...['1.5', '-1.5', '"1"', '1e-1', '0.1', '5e-324', '1e400', '-1e400', '1e999999999999'],
    ...['1e-999999999999', '4503599627370497.5', '9007199254740993.5', '9223372036854775808'],
    ...['-9223372036854775809', '9223372036854775807.5', '-9223372036854775808.5', '1e19'],
    ...['9223372036854775808.0', '18446744073709551616', '92233720368547758070e-2', '10e-2'],
    ...[`1${'0'.repeat(1000)}`, `1.${'0'.repeat(1000)}1`, `1e${'9'.repeat(1000)}`],
  ];
  for (const literal of refused) {
    test(`${literal.slice(0, 40)} is no int64: 400, nothing is ever rounded`, async () => {
      const answer = await client.post(`{"name":"Rex","categoryId":${literal}}`);
      assert.match(assertError(answer, 'invalid_body'), /^categoryId must be /);
    });
  }

  for (const literal of ['01', '+1', '.5', '1.', '1e', '1e+', '0x1', '-', 'NaN', '1_0', '-01']) {
    test(`${literal} is no JSON number: 400`, async () => {
      const answer = await client.post(`{"name":"Rex","categoryId":${literal}}`);
      assertError(answer, 'invalid_json');
    });
  }
});

describe('unknown fields in the body, a sent id', () => {
  const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`;
  const ignored = [
    ...['"x":1', '"x":null', '"x":{"name":5,"categoryId":"x","status":"lost"}', '"x":[{"id":[]}]'],
    ...['"id":5', '"id":"x"', '"id":null', '"id":-1', '"id":{"name":1}', '"Name":5', '"NAME":5'],
    ...['"":0', '"\\u0000":0', '"name ":5', '"categoryID":"x"', '"category_id":"x"', '"Status":0'],
    ...['"x":12345678901234567890123456789012345678901234567890', '"x":1e400', '"x":"\\ud800"'],
    ...['"__proto__":{"status":"sold"}', '"constructor":1', '"toString":1', '"valueOf":null'],
    ...['"x":1,"x":2', `"x":${deep}`],
  ];
  for (const field of ignored) {
    test(`Ignored: ${field.slice(0, 60)}`, async () => {
      const texts = [
        `{${field},"name":"Rex","categoryId":9007199254740993}`,
        `{"name":"Rex",${field},"categoryId":9007199254740993}`,
        `{"name":"Rex","categoryId":9007199254740993,${field}}`,
      ];
      for (const text of texts) {
        const { id, answer } = await client.add(text);
        assert.deepEqual(Object.keys(fieldsOf(answer)).sort(), ['categoryId', 'id', 'name']);
        assert.equal(fieldsOf(answer)['name'], 'Rex');
        assert.equal(integerOf(answer.text, 'categoryId'), 9007199254740993n);
        assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
      }
    });
  }

  test('A sent id is not the id that is given', async () => {
    const { id } = await client.add({ name: 'Rex', categoryId: 1 });
    for (const sent of [id, id + 1000n, 0n]) {
      const next = await client.add(`{"id":${sent},"name":"Rex","categoryId":1}`);
      assert.notEqual(next.id, sent);
    }
  });

  const missing = 'name is required; categoryId is required';
  for (const body of [
    '{"__proto__":{"name":"Rex","categoryId":1}}',
    '{"x":{"name":"Rex","categoryId":1}}',
    '{"x":[{"name":"Rex"}],"y":"\\"name\\":\\"Rex\\",\\"categoryId\\":1"}',
    '{"constructor":{"prototype":{"name":"Rex","categoryId":1}}}',
  ]) {
    test(`An unknown field supplies nothing: ${body}`, async () => {
      assert.equal(assertError(await client.post(body), 'invalid_body'), missing);
    });
  }

  test('A key may be written with escapes: it is the same key', async () => {
    const text = '{"n\\u0061me":"Rex","\\u0063ategoryId":9,"\\u0073\\u0074atus":"sold"}';
    const { id, answer } = await client.add(text);
    const pet = { id: Number(id), name: 'Rex', categoryId: 9, status: 'sold' };
    assert.deepEqual(fieldsOf(answer), pet);
  });

  test('A status may be written with escapes, and matches the filter', async () => {
    const { id, answer } = await client.add('{"name":"R","categoryId":1,"status":"s\\u006fld"}');
    assert.equal(fieldsOf(answer)['status'], 'sold');
    assert.deepEqual(idsOf((await client.listFrom(id, '&status=sold')).text), [id]);
  });
});

test('status omitted at creation: stays absent in the Pet, which matches no filter', async () => {
  const { id, answer } = await client.add({ name: 'Rex', categoryId: 1 });
  assert.deepEqual(Object.keys(fieldsOf(answer)).sort(), ['categoryId', 'id', 'name']);
  for (const status of ['available', 'pending', 'sold']) {
    assert.equal((await client.listFrom(id, `&status=${status}`)).text, '[]');
  }
  assert.equal((await client.listFrom(id)).text, `[${answer.text}]`);
});

describe('a key twice in a JSON object', () => {
  const rex = { name: 'Rex', categoryId: 1 };
  const counting: readonly [text: string, fields: Readonly<Record<string, unknown>>][] = [
    ['{"name":"Tom","name":"Rex","categoryId":1}', rex],
    ['{"name":5,"name":"Rex","categoryId":1}', rex],
    ['{"name":"Tom","categoryId":1,"n\\u0061me":"Rex"}', rex],
    ['{"n\\u0061me":"Tom","categoryId":1,"name":"Rex"}', rex],
    ['{"name":"Rex","categoryId":"x","categoryId":2,"categoryId":1}', rex],
    ['{"name":"Rex","categoryId":1,"status":"lost","status":"sold"}', { ...rex, status: 'sold' }],
    ['{"status":null,"name":"Rex","categoryId":1,"status":"sold"}', { ...rex, status: 'sold' }],
  ];
  for (const [text, fields] of counting) {
    test(`The last one wins: ${text}`, async () => {
      const { id, answer } = await client.add(text);
      assert.deepEqual(fieldsOf(answer), { id: Number(id), ...fields });
    });
  }

  const invalid: readonly [text: string, message: RegExp][] = [
    ['{"name":"Rex","name":5,"categoryId":1}', /^name must be /],
    ['{"name":"Rex","categoryId":1,"categoryId":1.5}', /^categoryId must be /],
    ['{"name":"Rex","categoryId":1,"status":"sold","status":null}', /^status must be /],
    ['{"name":"Rex","categoryId":1,"status":"sold","st\\u0061tus":"lost"}', /^status must be /],
  ];
  for (const [text, message] of invalid) {
    test(`The last one wins, when it is invalid too: ${text}`, async () => {
      assert.match(assertError(await client.post(text), 'invalid_body'), message);
    });
  }
});

test('categoryId: not checked against any category', async () => {
  for (const categoryId of ['-5', '0', '123456789012345678']) {
    await client.add(`{"name":"Rex","categoryId":${categoryId}}`);
  }
});

describe('new ids', () => {
  test('One more than the greatest so far', async () => {
    const { id } = await client.add({ name: 'Rex', categoryId: 1 });
    assert.equal((await client.add({ name: 'Rex', categoryId: 1 })).id, id + 1n);
  });

  test('A refused pet takes none', async () => {
    const { id } = await client.add({ name: 'Rex', categoryId: 1 });
    for (const body of ['{', '{}', '[]', '{"name":"Rex","categoryId":1,"status":""}']) {
      assert.equal((await client.post(body)).status, 400);
    }
    assert.equal((await client.add({ name: 'Rex', categoryId: 1 })).id, id + 1n);
  });

  test('Never given out twice, to pets that are added at once either', async () => {
    const { id } = await client.add({ name: 'Rex', categoryId: 1 });
    const adding = Array.from({ length: 40 }, () => client.add({ name: 'Rex', categoryId: 1 }));
    const ids = new Set((await Promise.all(adding)).map((pet) => pet.id));
    assert.deepEqual(ids, new Set(Array.from({ length: 40 }, (_, i) => id + BigInt(i) + 1n)));
  });
});

describe('petId that is no int64', () => {
  const words = ['x', '1x', '1.0', '1e0', '+1', '%2B1', '0x1', '--1', '-', '1,2', '1;a=b', 'null'];
  const encoded = ['%201', '1%20', '1%0A', '1%00', '%D9%A1', '%2E%2E%2F1', '1%2F', '%25'];
  const large = ['9223372036854775808', '-9223372036854775809', '1'.repeat(30), '9'.repeat(5000)];
  for (const petId of [...words, ...encoded, ...large]) {
    test(`404, as any pet that cannot be found: ${petId.slice(0, 40)}`, async () => {
      await client.add({ name: 'Rex', categoryId: 1 });
      assertError(await client.get(`/pets/${petId}`), 'not_found');
    });
  }
});

describe('values of code', () => {
  const cases: readonly [code: Code, send: () => Promise<Answer>][] = [
    ['malformed_request', () => client.get('/pets?a=%')],
    ['invalid_parameter', () => client.get('/pets?limit=x')],
    ['invalid_json', () => client.post('nonsense')],
    ['invalid_body', () => client.post('[]')],
    ['unauthorized', () => client.send('GET', '/pets', { Authorization: '' })],
    ['not_found', () => client.get('/pets/0')],
    ['unknown_path', () => client.get('/pet')],
    ['method_not_allowed', () => client.send('DELETE', '/pets')],
    ['body_too_large', () => client.post(`"${'x'.repeat(70_000)}"`)],
    ['unsupported_media_type', () => client.post('{}', { 'Content-Type': 'text/plain' })],
  ];
  for (const [code, send] of cases) {
    test(`One for each kind of failure, in snake_case: ${code}`, async () => {
      assertError(await send(), code);
    });
  }

  test('The list is closed, and each belongs to one status', () => {
    for (const [code, status] of Object.entries(STATUS_OF_CODE)) {
      assert.match(code, /^[a-z]+(?:_[a-z]+)*$/);
      assert.ok(status >= 400 && status <= 599);
    }
  });
});

describe('error detail', () => {
  test('message names every field at fault and what was wrong', async () => {
    const answer = await client.post({ name: 5, categoryId: 'seven', status: 'lost' });
    assert.equal(
      assertError(answer, 'invalid_body'),
      'name must be a string, not 5; categoryId must be an integer of 64 bits, not "seven"; ' +
        'status must be one of available, pending, sold, not "lost"',
    );
  });

  test('message names every parameter at fault and what was wrong', async () => {
    const answer = await client.get('/pets?status=lost&after=x&limit=0');
    const message = assertError(answer, 'invalid_parameter');
    const problems = message.split('; ').sort();
    assert.deepEqual(problems, [
      'after must be an integer from -9223372036854775808 to 9223372036854775807, not "x"',
      'limit must be an integer from 1 to 100, not "0"',
      'status must be one of available, pending, sold, not "lost"',
    ]);
  });

  test('message tells where a body stops being JSON', async () => {
    assert.match(assertError(await client.post('{"name":"Rex",}'), 'invalid_json'), /byte 14$/);
  });
});

describe('removal on 5 December 2030', () => {
  test('Until then Deprecation, Sunset and a Link to the successor', async () => {
    const { id } = await client.add({ name: 'Rex', categoryId: 1 });
    for (const answer of [
      await client.get(`/pets/${id}`),
      await client.send('HEAD', `/pets/${id}`),
      await client.get('/pets/0'),
    ]) {
      assert.equal(answer.headers.get('Deprecation'), '@1795219200');
      assert.equal(answer.headers.get('Sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT');
      assert.equal(answer.headers.get('Link'), '</v1/pets>; rel="successor-version"');
    }
  });

  test('No other operation is deprecated', async () => {
    const { answer } = await client.add({ name: 'Rex', categoryId: 1 });
    for (const { headers } of [answer, await client.get('/pets')]) {
      assert.equal(headers.get('Deprecation'), null);
      assert.equal(headers.get('Sunset'), null);
    }
  });
});

describe('GET /store/orders, categories, events', () => {
  const paths = ['/store/orders', '/store', '/store/orders/1', '/categories', '/categories/1'];
  for (const path of [...paths, '/events', '/webhooks', '/pets/1/category']) {
    test(`Not provided, 404: ${path}`, async () => {
      assertError(await client.get(path), 'unknown_path');
    });
  }
});

test('rate limits: none', async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, () => client.get('/pets?limit=1')));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
});

describe('request size', () => {
  test('A body of 64 KiB is taken', async () => {
    const empty = '{"name":"","categoryId":1}';
    const name = 'n'.repeat(65_536 - empty.length);
    const { answer } = await client.add(empty.replace('""', `"${name}"`));
    assert.equal(fieldsOf(answer)['name'], name);
  });

  test('A body of one byte more is 413', async () => {
    const empty = '{"name":"","categoryId":1}';
    const answer = await client.post(empty.replace('""', `"${'n'.repeat(65_537 - empty.length)}"`));
    assert.match(assertError(answer, 'body_too_large'), /65536 bytes/);
  });

  test('In chunks the limit is the same, and exact', async () => {
    const { id } = await client.add('{"name":"Rex","categoryId":1}');
    for (const [size, status] of [
      [65_536, 201],
      [65_537, 413],
    ] as const) {
      const text = '{"name":"Rex","categoryId":1}'.padEnd(size);
      const body = `${size.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
      const bytes = client.message('POST /v1/pets', ['Transfer-Encoding: chunked'], body);
      assert.deepEqual(
        (await client.exchange(bytes)).map((answer) => answer.status),
        [status],
      );
    }
    assert.deepEqual(idsOf((await client.listFrom(id)).text), [id, id + 1n]);
  });

  test('White space counts', async () => {
    const answer = await client.post('{"name":"Rex","categoryId":1}'.padEnd(65_537));
    assertError(answer, 'body_too_large');
  });
});
