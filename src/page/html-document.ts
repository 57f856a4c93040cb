/**
 * The frame that the page and the reference share: head, style sheet and one header. `/` and
 * `/docs` are siblings, so the same relative addresses lead from either to the other, below any
 * prefix. All texts are this service's own, and may be markup.
 */

import { VERSION } from '../base/version.ts';

export interface HtmlDocument {
  readonly address: './' | 'docs';
  readonly title: string;
  /** The sentence below the title. */
  readonly intro: string;
  /** The module that runs in the browser, if any. */
  readonly script?: string;
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
${script === undefined ? '' : `<script type="module" src="${script}"></script>`}
<header>
  <nav class="row ends" aria-label="Petstore">
    ${link('./', 'Pets')} ${link('docs', 'Reference')} ${link('openapi.json', 'openapi.json')}
    <span class="hint">Petstore ${VERSION}</span>
  </nav>
  <h1>${title}</h1><p>${intro}</p>
</header>
${body}`;
}
