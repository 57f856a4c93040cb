/**
 * Bad input of every kind: it gets the documented Error, and adds nothing.
 *
 * After each test the list must be, to the byte, what it was before.
 */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterEach, before, describe, test } from 'node:test';
import { assertError, type Code } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();
const REX = '{"name":"Rex","categoryId":1}';
let first = 0n;
let list = '';

before(async () => {
  first = (await client.add(REX)).id;
  await client.add({ name: 'Kit', categoryId: 2, status: 'sold' });
  list = (await client.listFrom(first)).text;
});

afterEach(async () => {
  assert.equal((await client.listFrom(first)).text, list, 'Bad input changes nothing');
});

/** A text for the name of a test. */
function shown(text: string): string {
  return JSON.stringify(text.length > 50 ? `${text.slice(0, 50)}…` : text);
}

describe('Malformed JSON is 400', () => {
  const cut = ['{', '{"name"', '{"name":', '{"name":"Rex', '{"name":"Rex"', '{"name":"Rex",', '['];
  const almost = [
    '{"name":"Rex","categoryId":1,}',
    '{,"name":"Rex","categoryId":1}',
    '{"name":"Rex" "categoryId":1}',
    '{"name":"Rex",,"categoryId":1}',
    '{"name" "Rex","categoryId":1}',
    '{"name"="Rex","categoryId":1}',
    '{"name"::"Rex","categoryId":1}',
    "{'name':'Rex','categoryId':1}",
    '{name:"Rex",categoryId:1}',
    '{"name":Rex,"categoryId":1}',
    '{"name":"Rex","categoryId":1]',
    '["name":"Rex","categoryId":1]',
    '{"name":"Rex","categoryId":1/* a comment */}',
    '// a comment\n{"name":"Rex","categoryId":1}',
    '{1:2,"name":"Rex","categoryId":1}',
    '{"x":[1,],"name":"Rex","categoryId":1}',
    '{"x":[1 2],"name":"Rex","categoryId":1}',
    '{"x":{"a"},"name":"Rex","categoryId":1}',
    '{"x":{]},"name":"Rex","categoryId":1}',
    'name=Rex&categoryId=1',
    '<pet/>',
    '}',
    ']',
  ];
  const words = ['True', 'nul', 'nulll', 'undefined', 'NaN', '-Infinity', '+1', '01', '1.', '-'];
  const controls = ['"\n"', '"\t"', '"\0"', '"\u001f"'];
  const escapes = ['"\\x41"', '"\\u12"', '"\\u{41}"', '"\\"', '"\\'];
  const values = [...words, ...controls, ...escapes];
  const inField = values.map((value) => `{"name":"Rex","categoryId":1,"x":${value}}`);
  for (const text of [...cut, ...almost, ...inField]) {
    test(shown(text), async () => {
      assertError(await client.post(text), 'invalid_json');
    });
  }
});

describe('A body that is not one JSON text is 400', () => {
  const spaces = [' ', '\n', '\r\n\t ', '\u00a0', '\v', '\f', '\u2028'];
  const garbage = ['x', '}', ',', ']', '\0', ' 1', '\u00a0', '\ufeff', '\f', '// x', `,${REX}`];
  const two = [REX + REX, `${REX} ${REX}`, `${REX}\n${REX}\n`, '{}{}', `[]${REX}`, `null${REX}`];
  for (const text of [...spaces, ...garbage.map((rest) => `${REX}${rest}`), ...two]) {
    test(shown(text), async () => {
      assertError(await client.post(text), 'invalid_json');
    });
  }

  test('An empty one, with a length of 0, without a length and chunked', async () => {
    for (const [fields, body] of [
      [['Content-Length: 0'], ''],
      [[], ''],
      [['Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ] as const) {
      const [answer] = await client.exchange(client.message('POST /v1/pets', fields, body));
      assertError(answer, 'invalid_json');
    }
  });

  test('A cut one: every part of a body from its start is refused', async () => {
    for (let end = 0; end < REX.length; end += 1) {
      assertError(await client.post(REX.slice(0, end)), 'invalid_json');
    }
  });
});

describe('A body that is no object is 400', () => {
  for (const text of ['[]', '"x"', '5', '-0', '1e400', 'null', 'true', 'false', '""', `[${REX}]`]) {
    test(shown(text), async () => {
      assert.match(assertError(await client.post(text), 'invalid_body'), /an object/);
    });
  }
});

describe('A body that is not UTF-8 is 400', () => {
  const sequences: readonly [what: string, bytes: readonly number[]][] = [
    ['a byte that never occurs', [0xff]],
    ['a continuation alone', [0x80]],
    ['a sequence cut off', [0xc3]],
    ['a 4-byte sequence cut off', [0xf0, 0x9f, 0x98]],
    ['an overlong NUL', [0xc0, 0x80]],
    ['an overlong slash', [0xe0, 0x80, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a pair of surrogates', [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
    ['beyond the last character', [0xf4, 0x90, 0x80, 0x80]],
    ['Latin-1', [0xe9]],
  ];
  const places = {
    'in the name': '{"name":"a?b","categoryId":1}',
    'in an unknown field': '{"name":"Rex","categoryId":1,"x":"?"}',
    'in a key': '{"name":"Rex","categoryId":1,"?":1}',
    'after the object': '{"name":"Rex","categoryId":1}?',
  };
  for (const [what, bytes] of sequences) {
    for (const [where, text] of Object.entries(places)) {
      test(`${what}, ${where}`, async () => {
        const [head = '', tail = ''] = text.split('?');
        const body = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]);
        assert.match(assertError(await client.post(body), 'invalid_json'), /UTF-8/);
      });
    }
  }

  test('UTF-16, in both orders, with a mark and without', async () => {
    for (const text of [REX, `\ufeff${REX}`]) {
      const little = Buffer.from(text, 'utf16le');
      for (const body of [little, Buffer.from(little).swap16()]) {
        assertError(await client.post(body), 'invalid_json');
      }
    }
  });

  test('A byte order mark', async () => {
    const message = assertError(await client.post(`\ufeff${REX}`), 'invalid_json');
    assert.match(message, /byte order mark/);
    assertError(await client.post('\ufeff'), 'invalid_json');
  });
});

test('Wrong types of every field at once: 400, and the message names all three', async () => {
  const wrong = ['null', 'true', '[]', '{}', '{"name":"Rex","categoryId":1}', '1.5'];
  for (const name of wrong) {
    for (const categoryId of [...wrong, '"1"', '1e400']) {
      for (const status of [...wrong, '"lost"']) {
        const text = `{"name":${name},"categoryId":${categoryId},"status":${status}}`;
        const message = assertError(await client.post(text), 'invalid_body');
        assert.match(message, /^name must .*; categoryId must .*; status must /);
      }
    }
  }
});

test('A null status is no absent one: 400', async () => {
  const text = '{"name":"Rex","categoryId":1,"status":null}';
  assert.match(assertError(await client.post(text), 'invalid_body'), /^status .* not null$/);
});

describe('Bad parameters', () => {
  const requests: readonly [path: string, code: Code][] = [
    ['/pets?limit=0', 'invalid_parameter'],
    ['/pets?limit=5&limit=6', 'invalid_parameter'],
    [`/pets?limit=${'1'.repeat(5000)}`, 'invalid_parameter'],
    ['/pets?status=lost', 'invalid_parameter'],
    ['/pets?after=x', 'invalid_parameter'],
    ['/pets?limit=%', 'malformed_request'],
    ['/pets/%', 'malformed_request'],
    [`/pets/${'1'.repeat(30)}`, 'not_found'],
    [`/pets/-${'9'.repeat(30)}`, 'not_found'],
    ['/pets/x', 'not_found'],
  ];
  for (const [path, code] of requests) {
    test(`GET ${shown(path)} is ${code}`, async () => {
      assertError(await client.get(path), code);
    });
  }
});

describe('A body that is too long is 413', () => {
  const MEGABYTES = `${REX}${' '.repeat(3_000_000)}`;
  const size = MEGABYTES.length;

  test('3 MB with Content-Length', async () => {
    const bytes = client.message('POST /v1/pets', [`Content-Length: ${size}`], MEGABYTES);
    const answers = await client.exchange(bytes);
    assert.equal(answers.length, 1);
    assertError(answers[0], 'body_too_large');
  });

  test('3 MB in one chunk', async () => {
    const body = `${size.toString(16)}\r\n${MEGABYTES}\r\n0\r\n\r\n`;
    const bytes = client.message('POST /v1/pets', ['Transfer-Encoding: chunked'], body);
    const answers = await client.exchange(bytes);
    assert.equal(answers.length, 1);
    assertError(answers[0], 'body_too_large');
  });

  test('70 kB in chunks of 7 bytes', async () => {
    const body = `${'7\r\n       \r\n'.repeat(10_000)}0\r\n\r\n`;
    const bytes = client.message('POST /v1/pets', ['Transfer-Encoding: chunked'], body);
    const answers = await client.exchange(bytes);
    assert.equal(answers.length, 1);
    assertError(answers[0], 'body_too_large');
  });

  test('An announced length beyond any number', async () => {
    const fields = [`Content-Length: ${2n ** 63n}`];
    const answers = await client.exchange(client.message('POST /v1/pets', fields, REX));
    assertError(answers[0], 'body_too_large');
  });
});

describe('A client that goes away', () => {
  /** Half-closes the connection after the bytes, and waits until the service is done with it. */
  const leaveAfter = (bytes: string): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(client.baseUrl).port), '127.0.0.1');
      socket.on('error', () => undefined).on('close', () => resolve());
      socket.resume().end(bytes);
    });

  for (const [what, fields, body] of [
    ['a whole JSON text, but not the whole body', [`Content-Length: ${REX.length + 1}`], REX],
    ['a part of the body', ['Content-Length: 100'], REX.slice(0, 9)],
    ['no last chunk', ['Transfer-Encoding: chunked'], `1d\r\n${REX}\r\n`],
    ['a part of a chunk', ['Transfer-Encoding: chunked'], `ff\r\n${REX}`],
    ['no body', ['Content-Length: 29'], ''],
  ] as const) {
    test(`after ${what} has added nothing`, async () => {
      await leaveAfter(client.message('POST /v1/pets', fields, body));
    });
  }
});

test('What is as deep as a body can be is no pet, and does not end the service', async () => {
  for (const text of ['['.repeat(65_536), '{"a":'.repeat(13_107), '{"":['.repeat(13_107)]) {
    assertError(await client.post(text), 'invalid_json');
  }
  assertError(await client.post(`${'['.repeat(30_000)}${']'.repeat(30_000)}`), 'invalid_body');
});
