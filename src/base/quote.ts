/** Quoting in messages: what was wrong, but never all of a long text that somebody sent. */

/** The text as JSON has it, in quotes, cut where it is long. */
export function quote(text: string): string {
  return JSON.stringify(cut(text));
}

/** A value of any type: a text in quotes, so that '1' is no 1; an object only as such. */
export function quoteValue(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  return typeof value === 'object' && value !== null ? 'an object' : cut(String(value));
}

/** The text's beginning, where it is long: up to 60 code units, and no half of a pair. */
export function cut(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  const isPairAtCut = text.codePointAt(MAX_LENGTH - 1)! > 0xffff;
  return `${text.slice(0, isPairAtCut ? MAX_LENGTH - 1 : MAX_LENGTH)}…`;
}

const MAX_LENGTH = 60;
