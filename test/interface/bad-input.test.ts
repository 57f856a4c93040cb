/**
 * Bad bodies: each gets an Error, and adds nothing.
 *
 * The specification says that invalid values are 400. The two codes, one for a body that is not
 * JSON and one for a body that is not a NewPet, are decisions of this project. The grammar of JSON
 * is tested in test/base, and the fields of a NewPet in test/model.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertError, atOnce, openOwnService, REX, testRefused } from './own-client.ts';

const { client } = await openOwnService({ after }, { bodyLimitBytes: 1 << 20 });

const post = (body: string | Buffer) => client.post(body);

const NOT_JSON = [
  '',
  ' ',
  '\ufeff',
  REX.slice(0, -1),
  `${REX}x`,
  `${REX}\0`,
  `${REX},${REX}`,
  '{,}',
];
const NOT_UTF_8 = ['\xff', '\xc3', '\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80'].flatMap(
  (bytes) =>
    ['{"name":"a?b","categoryId":1}', '{"name":"Rex","categoryId":1,"?":1}', `${REX}?`].map(
      (text) => Buffer.from(text.replace('?', bytes), 'latin1'),
    ),
);
const UTF_16 = [REX, `\ufeff${REX}`].flatMap((text) => {
  const little = Buffer.from(text, 'utf16le');
  return [little, Buffer.from(little).swap16()];
});
const NOT_A_PET = ['[]', '"x"', 'null', `[${REX}]`, '{}', '{"name":"Rex","categoryId":1e19}'];

testRefused(
  'A body that is not JSON in UTF-8',
  'invalid_json',
  [...NOT_JSON, ...NOT_UTF_8, ...UTF_16],
  post,
);
testRefused(
  'A body with a byte order mark',
  'invalid_json',
  ['\ufeff', `\ufeff${REX}`],
  post,
  /byte order mark/,
);
testRefused('JSON that is not a NewPet', 'invalid_body', NOT_A_PET, post);

test('Nesting 30,000 deep is refused with the code of any other body, and ignored in a field', async () => {
  for (const [open, inner, close] of [
    ['[', '', ']'],
    ['{"a":', '1', '}'],
    ['[{"a":', '{}', '}]'],
  ] as const) {
    const opened = open.repeat(30_000);
    const closed = `${opened}${inner}${close.repeat(30_000)}`;
    assertError(await post(opened), 'invalid_json');
    assertError(await post(`${closed}${close}`), 'invalid_json');
    assertError(await post(closed), 'invalid_body');
    const { pet } = await client.add(`{"name":"Rex","x":${closed},"categoryId":1}`);
    assert.equal(pet['categoryId'], 1n);
    assertError(await post(`{"name":${closed},"categoryId":1}`), 'invalid_body');
  }
});

test('A refused create takes no id', async () => {
  const { id } = await client.add(REX);
  await atOnce([...NOT_JSON, ...NOT_A_PET], async (body) => void (await post(body)));
  assert.equal((await client.add(REX)).id, id + 1n);
});
