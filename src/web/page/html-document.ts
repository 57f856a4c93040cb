/**
 * What the page and the reference share: head, style sheet and header. `/` and `/docs` are
 * siblings, so the same relative addresses work on both, below any prefix. All texts are this
 * service's own, and may be markup.
 */

import { VERSION } from '../../base/version.ts';

/** The suffix of this module, and so of all others: `.js`, or `.ts` if the sources run. */
export const SUFFIX: string = import.meta.url.slice(-3);

export interface HtmlDocument {
  readonly address: './' | 'docs';
  readonly title: string;
  /** The sentence below the title. */
  readonly intro: string;
  /** The module of this folder that runs in the browser. */
  readonly script: string;
  readonly body: string;
}

export function htmlDocument({ address, title, intro, script, body }: HtmlDocument): string {
  const link = (to: string, text: string): string =>
    `<a href="${to}"${to === address ? ' aria-current="page"' : ''}>${text}</a>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="page/style.css">
<script type="module" src="page/web/page/${script}${SUFFIX}"></script>
<a class="skip" href="#main">Skip to the content</a>
<header>
  <nav class="row ends" aria-label="Petstore">
    ${link('./', 'Pets')} ${link('docs', 'Reference')} ${link('openapi.json', 'openapi.json')}
    <span class="hint">Petstore ${VERSION}</span>
  </nav>
  <h1>${title}</h1><p>${intro}</p>
</header>
${body}`;
}
