/** Quoting in messages: what was wrong, but never all of a long text that somebody sent. */

export function quote(text: string): string {
  return JSON.stringify(cut(text));
}

/** The text's beginning, where it is long. */
export function cut(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

const MAX_LENGTH = 60;
