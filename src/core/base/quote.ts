/** Values in messages: shows an invalid one, but never the whole of a long one. */

/** Returns the text as a JSON string, truncated if it is long. */
export function quote(text: string): string {
  return JSON.stringify(cut(text));
}

/** Returns a text that shows any value. A string is in quotes, to distinguish '1' from 1. */
export function quoteValue(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' && value !== null ? 'an object' : cut(String(value));
}

/** Truncates a text after `longest` UTF-16 code units, or one less: it splits no surrogate pair. */
export function cut(text: string, longest: number = 60): string {
  if (text.length <= longest) return text;
  const isPairAtCut = text.codePointAt(longest - 1)! > 0xffff;
  return `${text.slice(0, isPairAtCut ? longest - 1 : longest)}…`;
}

/** Returns a number with its noun, which gets an s unless the number is 1. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
