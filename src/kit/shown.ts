/**
 * Prepares requests and responses for a report: truncated, safe for a terminal, and without the
 * API key.
 *
 * A long key is replaced everywhere, and so is the key without its last letter, which the checks
 * send as an invalid key. A short key is replaced only as a whole word: otherwise the key `a` would
 * replace every a.
 */

import { cut } from '../base/quote.ts';

/** Far more than a report shows, so that the part that is shown has no truncated key. */
const LONGEST_TEXT = 20_000;
const LONGEST_BODY = 400;
const LONGEST_LINE = 200;
const MOST_LINES = 12;
const SHORT_KEY = 8;

/** Returns the text truncated, without the key and without control characters. */
export function shownText(text: string, key: string): string {
  const plain = plainText(text.slice(0, LONGEST_TEXT).replaceAll('\r\n', '\n'), key);
  const [head = '', ...rest] = plain.split('\n\n');
  const lines = head.split('\n').map((line) => cut(line, LONGEST_LINE));
  if (lines.length > MOST_LINES) {
    lines.splice(MOST_LINES, lines.length, `… ${lines.length - MOST_LINES} more lines`);
  }
  const body = cut(rest.join('\n\n').trimEnd(), LONGEST_BODY);
  return body === '' ? lines.join('\n') : `${lines.join('\n')}\n\n${body}`;
}

/**
 * Replaces the key and the forms in which the checks send it with ***, and escapes characters that
 * are unsafe on a terminal or invalid in XML (JUnit).
 */
export function plainText(text: string, key: string): string {
  const isShort = key.length < SHORT_KEY;
  const base64 = [key, `:${key}`].map((form) => Buffer.from(form).toString('base64'));
  const forms = isShort ? [key] : [key, key.slice(0, -1), ...base64];
  const pattern = forms
    .sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[^A-Za-z0-9]/g, '\\$&'))
    .join('|');
  const word = isShort ? `(?<![A-Za-z0-9_-])(?:${pattern})(?![A-Za-z0-9_-])` : pattern;
  return text
    .replace(new RegExp(word, 'gi'), '***')
    .replaceAll(']]>', ']] >')
    .replace(NOT_SHOWN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Control characters except the line feed, lone surrogates and noncharacters. */
const NOT_SHOWN = /[\0-\x09\x0b-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]/gu;
