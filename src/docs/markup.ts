/**
 * HTML that is put together safely: whatever is put into a template is escaped, unless it is markup
 * already. Descriptions are CommonMark; `prose` and `inline` know as much of it as the description
 * of this service uses: paragraphs and code. Headings are the reference's own affair.
 */

export interface Markup {
  readonly html: string;
}

type Part = string | number | bigint | Markup | readonly Markup[];

/** A template's tag: markup`<b>${text}</b>`. */
export function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const filled = parts.map((part, index) => `${toHtml(part)}${texts[index + 1]}`);
  return { html: `${texts[0]}${filled.join('')}` };
}

function toHtml(part: Part): string {
  if (typeof part !== 'object') return escape(`${part}`);
  return 'html' in part ? part.html : part.map(({ html }) => html).join('');
}

/** For text and for attributes in double quotes. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

export const NOTHING: Markup = { html: '' };

export function joined(parts: readonly Markup[], separator: string): Markup {
  return markup`${parts.map((part, index) => (index === 0 ? part : markup`${separator}${part}`))}`;
}

/** Paragraphs, parted by empty lines. */
export function prose(text: string): Markup {
  return markup`${text.split('\n\n').map((paragraph) => markup`<p>${inline(paragraph)}</p>\n`)}`;
}

/** Text in which `…` is code. */
export function inline(text: string): Markup {
  const pieces = text.split('`');
  return markup`${pieces.map((piece, index) => (index % 2 === 1 ? code(piece) : markup`${piece}`))}`;
}

/** A name, which may be broken after each underscore: some codes are wider than half a phone. */
export function code(text: string): Markup {
  return { html: markup`<code>${text}</code>`.html.replaceAll('_', '_<wbr>') };
}
