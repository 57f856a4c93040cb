/**
 * Bad input of every kind: it gets the documented Error, and adds nothing.
 *
 * After each case the list must be, to the byte, what it was before.
 */

import assert from 'node:assert/strict';
import { checksIn, each, type Check, type Order } from './check.ts';
import { REX, type Client } from './client.ts';
import { assertError, assertOnlyError, type Code } from './errors.ts';

const input = checksIn('input');

/** A check of cases that must not change the list. */
function unchanged<T>(
  sentence: string,
  cases: readonly T[],
  run: (client: Client, item: T) => Promise<void>,
  order?: Order,
): Check {
  return input.decision(sentence, async (client) => {
    const { id } = await client.add(REX);
    await client.add({ name: 'Conformance Kit', categoryId: 2, status: 'sold' });
    const { text } = await client.listFrom(id);
    const runUnchanged = async (own: Client, item: T): Promise<void> => {
      await run(own, item);
      assert.equal((await own.listFrom(id)).text, text, 'the list after bad input');
    };
    await each(client, cases, runUnchanged, order);
  });
}

const CHUNKED = 'Transfer-Encoding: chunked';

const CUT = ['{', '{"name"', '{"name":', '{"name":"Rex', '{"name":"Rex"', '{"name":"Rex",', '['];
const ALMOST = [
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
const WORDS = ['True', 'nul', 'nulll', 'undefined', 'NaN', '-Infinity', '+1', '01', '1.', '-'];
const CONTROLS = ['"\n"', '"\t"', '"\0"', '"\u001f"'];
const ESCAPES = ['"\\x41"', '"\\u12"', '"\\u{41}"', '"\\"', '"\\'];
const IN_FIELD = [...WORDS, ...CONTROLS, ...ESCAPES].map(
  (value) => `{"name":"Rex","categoryId":1,"x":${value}}`,
);

const SPACES = [' ', '\n', '\r\n\t ', '\u00a0', '\v', '\f', '\u2028'];
const TRAILING = ['x', '}', ',', ']', '\0', ' 1', '\u00a0', '\ufeff', '\f', '// x', `,${REX}`];
const TWO = [REX + REX, `${REX} ${REX}`, `${REX}\n${REX}\n`, '{}{}', `[]${REX}`, `null${REX}`];
const NO_OBJECT = ['[]', '"x"', '5', '-0', '1e400', 'null', 'true', 'false', '""', `[${REX}]`];

const EMPTY: readonly [what: string, fields: readonly string[], body: string][] = [
  ['with a length of 0', ['Content-Length: 0'], ''],
  ['without a length', [], ''],
  ['chunked', [CHUNKED], '0\r\n\r\n'],
];

const NO_UTF_8: readonly [what: string, bytes: readonly number[]][] = [
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
const PLACES = [
  ['in the name', '{"name":"a?b","categoryId":1}'],
  ['in an unknown field', '{"name":"Rex","categoryId":1,"x":"?"}'],
  ['in a key', '{"name":"Rex","categoryId":1,"?":1}'],
  ['after the object', '{"name":"Rex","categoryId":1}?'],
] as const;
const BYTES_IN_PLACES = NO_UTF_8.flatMap(([what, bytes]) =>
  PLACES.map(([where, text]) => [`${what}, ${where}`, bytes, text] as const),
);

const WRONG = ['null', 'true', '[]', '{}', '{"name":"Rex","categoryId":1}', '1.5'];
const WRONG_IN_ALL = WRONG.flatMap((name) =>
  [...WRONG, '"1"', '1e400'].flatMap((categoryId) =>
    [...WRONG, '"lost"'].map(
      (status) => `{"name":${name},"categoryId":${categoryId},"status":${status}}`,
    ),
  ),
);

const PATHS: readonly [path: string, code: Code][] = [
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

const THREE_MB = `${REX}${' '.repeat(3_000_000)}`;
const SIZE = THREE_MB.length;
const TOO_LONG: readonly [what: string, field: string, body: string][] = [
  ['3 MB with Content-Length', `Content-Length: ${SIZE}`, THREE_MB],
  ['3 MB in one chunk', CHUNKED, `${SIZE.toString(16)}\r\n${THREE_MB}\r\n0\r\n\r\n`],
  ['70 kB in chunks of 7 bytes', CHUNKED, `${'7\r\n       \r\n'.repeat(10_000)}0\r\n\r\n`],
  ['An announced length beyond any number', `Content-Length: ${2n ** 63n}`, REX],
];

const LEFT: readonly [what: string, field: string, body: string][] = [
  ['a whole JSON text, but not the whole body', `Content-Length: ${REX.length + 1}`, REX],
  ['a part of the body', 'Content-Length: 100', REX.slice(0, 9)],
  ['no last chunk', CHUNKED, `${REX.length.toString(16)}\r\n${REX}\r\n`],
  ['a part of a chunk', CHUNKED, `ff\r\n${REX}`],
  ['no body', 'Content-Length: 29', ''],
];

/** As deep as a body of 64 KiB can be. */
const DEEP: readonly [what: string, text: string, code: Code][] = [
  ['arrays', '['.repeat(65_536), 'invalid_json'],
  ['objects', '{"a":'.repeat(13_107), 'invalid_json'],
  ['both', '{"":['.repeat(13_107), 'invalid_json'],
  ['closed arrays', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 'invalid_body'],
];

const postNoJson = async (client: Client, text: string): Promise<void> => {
  assertError(await client.post(text), 'invalid_json');
};

export const badInput: readonly Check[] = [
  unchanged('Malformed JSON is 400', [...CUT, ...ALMOST, ...IN_FIELD], postNoJson),
  unchanged(
    'A body that is not one JSON text is 400',
    [...SPACES, ...TRAILING.map((rest) => `${REX}${rest}`), ...TWO],
    postNoJson,
  ),

  unchanged('An empty body is 400', EMPTY, async (client, [, fields, body]) => {
    const [answer] = await client.exchange(client.message('POST /v1/pets', fields, body));
    assertError(answer, 'invalid_json');
  }),

  unchanged(
    'Every part of a body from its start is 400',
    Array.from(REX, (_letter, end) => REX.slice(0, end)),
    postNoJson,
  ),

  unchanged('A body that is no object is 400', NO_OBJECT, async (client, text) => {
    assert.match(assertError(await client.post(text), 'invalid_body'), /an object/);
  }),

  unchanged('A body that is not UTF-8 is 400', BYTES_IN_PLACES, async (client, [, bytes, text]) => {
    const [head = '', tail = ''] = text.split('?');
    const body = Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]);
    assert.match(assertError(await client.post(body), 'invalid_json'), /UTF-8/);
  }),

  unchanged('UTF-16 is 400, in both orders', [REX, `\ufeff${REX}`], async (client, text) => {
    const little = Buffer.from(text, 'utf16le');
    for (const body of [little, Buffer.from(little).swap16()]) {
      assertError(await client.post(body), 'invalid_json');
    }
  }),

  unchanged('A byte order mark is 400', [`\ufeff${REX}`, '\ufeff'], async (client, text) => {
    const message = assertError(await client.post(text), 'invalid_json');
    if (text.endsWith(REX)) assert.match(message, /byte order mark/);
  }),

  unchanged('The message names all three of three wrong fields', WRONG_IN_ALL, async (to, text) => {
    const message = assertError(await to.post(text), 'invalid_body');
    assert.match(message, /^name must .*; categoryId must .*; status must /);
  }),

  unchanged(
    'A null status is no absent one: 400',
    ['{"name":"Rex","categoryId":1,"status":null}'],
    async (client, text) => {
      assert.match(assertError(await client.post(text), 'invalid_body'), /^status .* not null$/);
    },
  ),

  unchanged('Bad parameters have their codes', PATHS, async (client, [path, code]) => {
    assertError(await client.get(path), code);
  }),

  unchanged(
    'A body that is too long is 413',
    TOO_LONG,
    async (client, [, field, body]) => {
      const answers = await client.exchange(client.message('POST /v1/pets', [field], body));
      assertOnlyError(answers, 'body_too_large');
    },
    'all at once',
  ),

  unchanged('A client that goes away adds nothing', LEFT, async (client, [, field, body]) => {
    await client.leaveAfter(client.message('POST /v1/pets', [field], body));
  }),

  unchanged('A deep body ends in an Error, not the service', DEEP, async (to, [, text, code]) => {
    assertError(await to.post(text), code);
  }),
];
