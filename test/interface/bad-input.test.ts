/**
 * Bad bodies of every kind: each gets an Error, and adds nothing.
 *
 * The specification says that invalid values are 400. The two codes, one for a body that is no JSON
 * and one for a body that is no pet, are decisions of this project.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { atOnce, message, openOwnService, REX, testRefused } from './own-client.ts';

const { client } = await openOwnService({ after });

const CUT = Array.from(REX, (_letter, end) => REX.slice(0, end));
const ALMOST = [
  '{"name":"Rex","categoryId":1,}',
  '{,"name":"Rex","categoryId":1}',
  '{"name":"Rex" "categoryId":1}',
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
  'name=Rex&categoryId=1',
  '<pet/>',
];
const VALUES = [
  ...['True', 'nul', 'nulll', 'undefined', 'NaN', '-Infinity', '+1', '01', '-01', '1.', '.5', '-'],
  ...['1e', '1e+', '0x1', '1_0', '[1,]', '[1 2]', '{"a"}', '{]}', '"\n"', '"\t"', '"\0"'],
  ...['"\u001f"', '"\\x41"', '"\\u12"', '"\\u{41}"', '"\\"', '"\\'],
];
const IN_FIELD = VALUES.map((value) => `{"name":"Rex","categoryId":1,"x":${value}}`);
const SPACES = [' ', '\n', '\r\n\t ', '\u00a0', '\v', '\f', '\u2028', '\ufeff', `\ufeff${REX}`];
const ENDS = [
  'x',
  '}',
  ',',
  ']',
  '\0',
  ' 1',
  '\u00a0',
  '\ufeff',
  '\f',
  '// x',
  `,${REX}`,
  REX,
  '\n{}',
];
const DEEP = ['['.repeat(65_536), '{"a":'.repeat(13_107), '{"":['.repeat(10_922)];
const NO_JSON = [
  ...CUT,
  ...ALMOST,
  ...IN_FIELD,
  ...SPACES,
  ...ENDS.map((end) => REX + end),
  ...DEEP,
];

const NO_UTF_8: readonly (readonly number[])[] = [
  ...[[0xff], [0x80], [0xc3], [0xf0, 0x9f, 0x98], [0xc0, 0x80], [0xe0, 0x80, 0xaf]],
  ...[[0xed, 0xa0, 0x80], [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe9]],
];
const PLACES = [
  '{"name":"a?b","categoryId":1}',
  '{"name":"Rex","categoryId":1,"x":"?"}',
  '{"name":"Rex","categoryId":1,"?":1}',
  '{"name":"Rex","categoryId":1}?',
];
const NO_TEXT = NO_UTF_8.flatMap((bytes) =>
  PLACES.map((text) => {
    const [before = '', after = ''] = text.split('?');
    return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
  }),
);
const UTF_16 = [REX, `\ufeff${REX}`].flatMap((text) => {
  const little = Buffer.from(text, 'utf16le');
  return [little, Buffer.from(little).swap16()];
});

const NO_INTEGER = [
  ...['1.5', '-1.5', '"1"', '1e-1', '0.1', '5e-324', '1e400', '-1e400', '1e999999999999'],
  ...['1e-999999999999', '4503599627370497.5', '9007199254740993.5', '9223372036854775808'],
  ...['-9223372036854775809', '9223372036854775807.5', '-9223372036854775808.5', '1e19'],
  ...['18446744073709551616', '92233720368547758070e-2', '10e-2'],
  ...[`1${'0'.repeat(1000)}`, `1.${'0'.repeat(1000)}1`, `1e${'9'.repeat(1000)}`],
].map((literal) => `{"name":"Rex","categoryId":${literal}}`);
const LAST_WRONG = [
  '{"name":"Rex","name":5,"categoryId":1}',
  '{"name":"Rex","categoryId":1,"categoryId":1.5}',
  '{"name":"Rex","categoryId":1,"status":"sold","status":null}',
  '{"name":"Rex","categoryId":1,"status":"sold","st\\u0061tus":"lost"}',
];
const NO_OBJECT = ['[]', '"x"', '5', '-0', '1e400', 'null', 'true', 'false', '""', `[${REX}]`];
const CLOSED = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
const NO_PET = [...NO_INTEGER, ...LAST_WRONG, ...NO_OBJECT, CLOSED];

/** Bodies that never come to their end. */
const LEFT: readonly [field: string, body: string][] = [
  [`Content-Length: ${REX.length + 1}`, REX],
  ['Content-Length: 100', REX.slice(0, 9)],
  ['Transfer-Encoding: chunked', `${REX.length.toString(16)}\r\n${REX}\r\n`],
  ['Transfer-Encoding: chunked', `ff\r\n${REX}`],
  ['Content-Length: 29', ''],
];

const post = (body: string | Buffer) => client.post(body);

testRefused(
  'A body that is not JSON in UTF-8',
  'invalid_json',
  [...NO_JSON, ...NO_TEXT, ...UTF_16],
  post,
);
testRefused(
  'An integer that is no int64, and JSON that is no NewPet',
  'invalid_body',
  NO_PET,
  post,
);

test('A refused pet takes no id', async () => {
  const { id } = await client.add(REX);
  await atOnce([...NO_JSON, ...NO_PET], async (body) => void (await client.post(body)));
  for (const [field, body] of LEFT)
    await client.leaveAfter(message('POST /v1/pets', [field], body));
  assert.equal((await client.add(REX)).id, id + 1n);
});
