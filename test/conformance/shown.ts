/**
 * What a report shows of requests and answers: cut short, harmless to a terminal, without the key.
 *
 * Nor a part of the key, which the checks of wrong credentials send.
 */

import type { Answer } from './answers.ts';

/** Far beyond what is shown of a text, so that no key is cut at its end and then shown. */
const LONGEST_TEXT = 20_000;
const LONGEST_BODY = 400;
const LONGEST_LINE = 200;
const MOST_FIELDS = 12;

export function shownRequest(
  requestLine: string,
  headers: Headers,
  body: string | Uint8Array | undefined,
): string {
  return messageOf(requestLine, headers, body === undefined ? '' : Buffer.from(body).toString());
}

export function shownAnswer({ status, headers, text }: Answer): string {
  return messageOf(`status ${status}`, headers, text);
}

/** The text without the key, control characters but line ends escaped, and long parts cut. */
export function shownText(text: string, key: string): string {
  const plain = text.slice(0, LONGEST_TEXT).replaceAll('\r\n', '\n');
  const [head = '', ...rest] = harmless(plain, key).split('\n\n');
  const lines = head.split('\n').map((line) => cut(line, LONGEST_LINE));
  if (lines.length > MOST_FIELDS) {
    lines.splice(MOST_FIELDS, lines.length, `… ${lines.length - MOST_FIELDS} more lines`);
  }
  const body = cut(rest.join('\n\n').trimEnd(), LONGEST_BODY);
  return body === '' ? lines.join('\n') : `${lines.join('\n')}\n\n${body}`;
}

/** The text without the key, and with its control characters but line ends escaped. */
export function harmless(text: string, key: string): string {
  return withoutKey(text, key).replace(/[\0-\x09\x0b-\x1f\x7f-\x9f]/g, escaped);
}

/** The text with *** in place of the key and of what the checks make of it. */
function withoutKey(text: string, key: string): string {
  // Without its last letter a short key would be found in many a word.
  const cutOff = key.length < 8 ? [] : [key.slice(0, -1)];
  const forms = [key, key.toUpperCase(), base64(key), base64(`:${key}`), ...cutOff];
  const longestFirst = forms.sort((a, b) => b.length - a.length);
  return longestFirst.reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

function messageOf(firstLine: string, headers: Headers, body: string): string {
  const fields = [...headers].map(([name, value]) => `${name}: ${value}`);
  return [firstLine, ...fields, '', body].join('\n');
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

function escaped(character: string): string {
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
