/** JSON read in place: what is accepted, where a mistake is, and what is found in an object. */

import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import {
  JsonSyntaxError,
  readObject,
  skipSpace,
  skipValue,
  type JsonValue,
} from '../../src/base/json.ts';
import { rounds } from '../support/extent.ts';
import { forAll, mutate } from '../support/random.ts';
import { randomJson, randomObject } from '../support/random-json.ts';

test('A JsonSyntaxError has the exact offset, what was expected and what was found', () => {
  const mistakes: readonly (readonly [text: string, offset: number, complaint: string])[] = [
    ['', 0, 'Expected a value but found the end'],
    ['x', 0, "Expected a value but found 'x'"],
    ['\0', 0, 'Expected a value but found byte 0x00'],
    ['!', 0, "Expected a value but found '!'"],
    ['~', 0, "Expected a value but found '~'"],
    ['\x7f', 0, 'Expected a value but found byte 0x7f'],
    ['nul', 3, 'Expected a value but found the end'],
    ['nulL', 0, "Expected a value but found 'n'"],
    ['tru ', 0, "Expected a value but found 't'"],
    ['-', 1, 'Expected a digit but found the end'],
    ['1.', 2, 'Expected a digit but found the end'],
    ['1e+-5', 3, "Expected a digit but found '-'"],
    ['"', 1, "Expected '\"' at the end of a string but found the end"],
    ['"a\nb"', 2, "Expected '\"' at the end of a string but found byte 0x0a"],
    ['"\\', 2, `Expected one of the escapes ${ESCAPES} but found the end`],
    ['"\\x41"', 2, `Expected one of the escapes ${ESCAPES} but found 'x'`],
    ['"\\u12g4"', 5, "Expected a hex digit but found 'g'"],
    ['"\\u123"', 6, "Expected a hex digit but found '\"'"],
    ['[1 2]', 3, "Expected ',' or ']' but found '2'"],
    ['[1,]', 3, "Expected a value but found ']'"],
    ['[01]', 2, "Expected ',' or ']' but found '1'"],
    ['[1}', 2, "Expected ',' or ']' but found '}'"],
    ['{1:2}', 1, "Expected a string but found '1'"],
    ['{"a"}', 4, "Expected ':' but found '}'"],
    ['{"a":}', 5, "Expected a value but found '}'"],
    ['{"a":1', 6, "Expected ',' or '}' but found the end"],
    ['{"a":[1,{"b":tru}]}', 13, "Expected a value but found 't'"],
    ['[1,\u00a02]', 3, 'Expected a value but found byte 0xc2'],
  ];
  for (const [text, offset, complaint] of mistakes) {
    const message = `${complaint} at byte ${offset}`;
    const error = { name: 'JsonSyntaxError', message, complaint, offset };
    assert.throws(() => skipValue(Buffer.from(text), 0), error, text);
  }
});

const ESCAPES = '\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u';

test('A text with random mistakes is accepted exactly if JSON.parse accepts it', () => {
  let accepted = 0;
  let refused = 0;
  forAll(rounds(5000, 20_000), (random) => {
    const text = mutate(random, Buffer.from(randomJson(random, 3).text));
    if (!isUtf8(text)) return;
    const isJson = accepts(() => JSON.parse(text.toString()));
    const mistake = mistakeIn(() => skipDocument(text));
    assert.equal(mistake === undefined, isJson, JSON.stringify(text.toString()));
    if (isJson) accepted += 1;
    else refused += 1;
    if (mistake === undefined) return;
    // The bytes before the offset have no mistake, except that the text ends too early.
    const before = text.subarray(0, mistake.offset);
    const earlier = mistakeIn(() => skipDocument(before));
    assert.ok(earlier === undefined || earlier.offset >= before.length, text.toString());
  });
  assert.ok(accepted > 250 && refused > 250, `${accepted} accepted, ${refused} refused`);
});

// Not against JSON.parse: from Node 24 on it takes {"\u0022":0,"\u00e9":1,"\u00e9":2,"\u0022":3}
// for an object with a key \ once it has seen such keys in another order.
test('readObject reports every member in order, with its key decoded', () => {
  forAll(5000, (random) => {
    const { text, members } = randomObject(random, 3);
    const expected = { members, end: Buffer.byteLength(text) + 1 };
    assert.deepEqual(membersOf(Buffer.from(`[${text}]`), 1), expected, text);
  });
});

test('Only an object has members', () => {
  for (const text of ['[]', '', '1', '"{}"', ' {}']) {
    const read = (): unknown => membersOf(Buffer.from(text), 0);
    assert.throws(read, { name: 'JsonSyntaxError', offset: 0 }, text);
  }
});

test('Nesting of any depth is read, and a truncated one is reported', () => {
  const depth = rounds(200_000, 1_000_000);
  for (const [open, close] of [
    ['['.repeat(depth), ']'.repeat(depth)],
    ['{"a":'.repeat(depth), `0${'}'.repeat(depth)}`],
    ['[{"a":'.repeat(depth / 2), `[]${'}]'.repeat(depth / 2)}`],
  ] as const) {
    const text = Buffer.from(`{"a":${open}${close}}`);
    const span = { start: 5, end: text.length - 1 };
    const read = (bytes: Buffer): unknown =>
      readObject(bytes, 0, (_key, value) => spans.push(value));
    const spans: JsonValue[] = [];
    assert.equal(read(text), text.length);
    assert.deepEqual(spans, [span]);
    assert.throws(() => read(text.subarray(0, 5 + open.length)), { offset: 5 + open.length });
    assert.throws(() => read(text.subarray(0, -1)), { offset: span.end });
  }
});

/** The members that are reported, the text of each value, and the end of the object. */
function membersOf(
  bytes: Buffer,
  at: number,
): { readonly members: readonly (readonly string[])[]; readonly end: number } {
  const members: (readonly string[])[] = [];
  const end = readObject(bytes, at, (key, value) => {
    members.push([key, bytes.toString('utf8', value.start, value.end)]);
  });
  return { members, end };
}

function skipDocument(text: Buffer): void {
  const end = skipSpace(text, skipValue(text, skipSpace(text, 0)));
  if (end !== text.length) throw new JsonSyntaxError('the end', text, end);
}

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    assert.ok(error instanceof SyntaxError, String(error));
    return false;
  }
}

function mistakeIn(read: () => unknown): JsonSyntaxError | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError, String(error));
    return error;
  }
}
