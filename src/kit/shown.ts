/**
 * What a report shows of requests and responses: cut short, harmless to a terminal, without the
 * key.
 *
 * A long key is hidden wherever it stands, and so is the key without its last letter, which the
 * checks send as a wrong one. A short key is hidden as a whole word only: else the key `a` would
 * hide every a.
 */

/** Far beyond what is shown of a text, so that no key is cut at its end and then shown. */
const LONGEST_TEXT = 20_000;
const LONGEST_BODY = 400;
const LONGEST_LINE = 200;
const MOST_LINES = 12;
const SHORT_KEY = 8;

/** A message of HTTP as a report shows it. */
export function shownMessage(
  firstLine: string,
  headers: Headers,
  body: string,
  key: string,
): string {
  const fields = [...headers].map(([name, value]) => `${name}: ${value}`);
  return shownText([firstLine, ...fields, '', body].join('\n'), key);
}

/** The text without the key, with line ends as its only control characters, and cut. */
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
 * The text with *** instead of the key and of what the checks make of it, and without what a
 * terminal or an XML file (JUnit) cannot take.
 */
export function plainText(text: string, key: string): string {
  const base64 = [key, `:${key}`].map((form) => Buffer.from(form).toString('base64'));
  const forms = [key, ...(key.length < SHORT_KEY ? [] : [key.slice(0, -1), ...base64])];
  const pattern = forms
    .sort((a, b) => b.length - a.length)
    .map((form) => form.replace(/[^A-Za-z0-9]/g, '\\$&'))
    .join('|');
  const isShort = key.length < SHORT_KEY;
  const word = isShort ? `(?<![A-Za-z0-9_-])(?:${pattern})(?![A-Za-z0-9_-])` : pattern;
  return text
    .replace(new RegExp(word, 'gi'), '***')
    .replaceAll(']]>', ']] >')
    .replace(NOT_SHOWN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Control characters except the line feed, lone surrogates, and the two that are no characters. */
const NOT_SHOWN = /[\0-\x09\x0b-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]/gu;

export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}
