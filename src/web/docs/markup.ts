/**
 * Safe HTML templates: every value in a template is escaped, unless it is markup already.
 * Descriptions are CommonMark. `prose` and `inline` support what the description of this service
 * uses: paragraphs and code. The reference handles headings.
 */

export interface Markup {
  readonly html: string;
}

export type Part = string | number | bigint | Markup | readonly Part[];

/** A template's tag: markup`<b>${text}</b>`. */
export function markup(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const filled = parts.map((part, index) => `${toHtml(part)}${texts[index + 1]}`);
  return { html: `${texts[0]}${filled.join('')}` };
}

function toHtml(part: Part): string {
  if (typeof part !== 'object') return escape(`${part}`);
  return 'html' in part ? part.html : part.map(toHtml).join('');
}

/** For text and for attributes in double quotes. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

export function joined(parts: readonly Part[], separator: string): Part {
  return parts.map((part, index) => (index === 0 ? part : [separator, part]));
}

/** Converts paragraphs, which are separated by empty lines. */
export function prose(text: string): Markup {
  return markup`${text.split('\n\n').map((paragraph) => markup`<p>${inline(paragraph)}</p>\n`)}`;
}

/** Converts a text in which `…` is code. */
export function inline(text: string): Markup {
  return markup`${text.split('`').map((piece, index) => (index % 2 === 1 ? code(piece) : piece))}`;
}

/** Marks a name as code. A line may break after each underscore, since some codes are long. */
export function code(text: string): Markup {
  return { html: markup`<code>${text}</code>`.html.replaceAll('_', '_<wbr>') };
}

/**
 * An example to copy, below the name of its language. With `isChosen` it is one of two, of which
 * the reader chooses the language.
 */
export function sample(language: string, text: Part, isChosen: boolean): Markup {
  const names = `sample ${language.toLowerCase()}-sample${isChosen ? ' or' : ''}`;
  return markup`<div class="${names}"><p class="row ends"><span class="hint">${language}</span></p>
<pre>${text}</pre></div>`;
}
