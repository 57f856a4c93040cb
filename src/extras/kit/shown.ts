/**
 * Prepares requests and responses for a report: truncated, safe for a terminal, and without the
 * API key and other secrets.
 *
 * A long secret is replaced everywhere, and so are the forms in which the checks send the key as an
 * invalid one, escaped or not. A short key and its forms are replaced only as whole words:
 * otherwise the key `a` would replace every a.
 */

import { cut } from '../../core/base/quote.ts';
import type { Target } from './test-client.ts';

/** Far more than a report shows, so that the part that is shown has no truncated key. */
const LONGEST_TEXT = 20_000;
const LONGEST_BODY = 400;
const LONGEST_LINE = 200;
const MOST_LINES = 12;
/** A shorter key is short. */
const LONG_KEY = 8;

/** Returns the text truncated, without secrets and without control characters. */
export function shownText(text: string, secrets: readonly string[]): string {
  const plain = plainText(text.slice(0, LONGEST_TEXT).replaceAll('\r\n', '\n'), secrets);
  const [head = '', ...rest] = plain.split('\n\n');
  const lines = head.split('\n').map((line) => cut(line, LONGEST_LINE));
  if (lines.length > MOST_LINES) {
    lines.splice(MOST_LINES, lines.length, `… ${lines.length - MOST_LINES} more lines`);
  }
  const body = cut(rest.join('\n\n').trimEnd(), LONGEST_BODY);
  return body === '' ? lines.join('\n') : `${lines.join('\n')}\n\n${body}`;
}

/** Returns the API key, and the values of added header fields that are long enough for a secret. */
export function secretsOf({ key, headers = {} }: Target): readonly string[] {
  return [key, ...Object.values(headers).filter(({ length }) => length >= LONG_KEY)];
}

/**
 * Replaces the secrets and the forms in which the checks send a key with ***, and escapes
 * characters that are unsafe on a terminal or invalid in XML (JUnit).
 */
export function plainText(text: string, secrets: readonly string[]): string {
  // A secret may begin with another one.
  const pattern = secrets.toSorted(longestFirst).map(patternOf).join('|');
  return text
    .replace(new RegExp(pattern, 'gi'), '***')
    .replaceAll(']]>', ']] >')
    .replace(NOT_SHOWN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const longestFirst = (a: string, b: string): number => b.length - a.length;

/** Control characters except the line feed, lone surrogates and noncharacters. */
const NOT_SHOWN = /[\0-\x09\x0b-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]/gu;

/** Returns the expression of a secret and its forms. Without its last letter `at` is a word. */
function patternOf(secret: string): string {
  const isShort = secret.length < LONG_KEY;
  const base64 = [secret, `:${secret}`].map((form) => Buffer.from(form).toString('base64'));
  const longer = isShort ? [`x${secret}`, `${secret}x`] : [];
  const shorter = secret.length > 3 ? [secret.slice(0, -1)] : [];
  const forms = [secret, ...longer, ...base64, ...shorter]
    .sort(longestFirst)
    .map((form) => form.replace(/[^A-Za-z0-9]/g, escapesOf))
    .join('|');
  return isShort ? `(?<![A-Za-z0-9_-])(?:${forms})(?![A-Za-z0-9_-])` : forms;
}

/** Returns the expression of a character as it is, or as JSON, a URL or HTML may escape it. */
function escapesOf(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
  return `(?:\\\\?\\${character}|\\\\u00${hex}|%${hex}|&#?[a-z0-9]+;)`;
}
