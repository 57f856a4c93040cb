/**
 * What a report shows: no API key, and nothing that is unsafe on a terminal or
 * invalid in XML. What a whole report has is in command.test.ts.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainText, shownText } from '../../src/kit/shown.ts';

const KEY = 'Secret-of-9+';
const BASE64 = Buffer.from(`:${KEY}`).toString('base64');

const TEXTS: readonly (readonly [what: string, text: string, shown: string, key?: string])[] = [
  ['the key', `Bearer ${KEY}, ${KEY}x`, 'Bearer ***, ***x'],
  ['the key in the other case', `Bearer ${KEY.toUpperCase()}`, 'Bearer ***'],
  ['the key without its last letter', `Bearer ${KEY.slice(0, -1)}`, 'Bearer ***'],
  ['the key as the scheme Basic sends it', `Basic ${BASE64}`, 'Basic ***'],
  ['a short key only as a whole word', 'a Rex a,a-b', '*** Rex ***,a-b', 'a'],
  ['control characters', 'a\x1b[31m\0\t\x9f\nb', 'a\\u001b[31m\\u0000\\u0009\\u009f\nb'],
  [
    'characters that XML does not allow',
    ']]> \ufffe \uffff \ud800 \udfff🐕',
    ']] > \\ufffe \\uffff \\ud800 \\udfff🐕',
  ],
];

for (const [what, text, shown, key = KEY] of TEXTS) {
  test(`A report shows ${what} in a safe form`, () => assert.equal(plainText(text, key), shown));
}

test('A report truncates long lines, a long header and a long body', () => {
  const fields = Array.from({ length: 20 }, (_, i) => `field-${i}: ${'x'.repeat(300)}`);
  const lines = shownText(['GET /', ...fields, '', 'y'.repeat(1000)].join('\r\n'), KEY).split('\n');
  assert.deepEqual([lines.length, lines[1]?.length, lines[12]], [15, 201, '… 9 more lines']);
  assert.equal(lines.at(-1), `${'y'.repeat(400)}…`);
});
