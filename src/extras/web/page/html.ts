/**
 * The page's HTML, and the head, style sheet and header that page and reference share. It is a
 * string in a module, as the style sheet is, so that it is packed with the code. It has no data of
 * a request or a pet. Its addresses are relative, and `/` and `/docs` are siblings, so the same
 * addresses work on both, below any prefix.
 */

import { VERSION } from '../../../core/base/version.ts';

/** The suffix of this module, and so of all others: `.js`, or `.ts` if the sources run. */
export const SUFFIX: string = import.meta.url.slice(-3);

/** `intro` is a sentence. */
export function htmlDocument(
  address: './' | 'docs',
  title: string,
  intro: string,
  body: string,
): string {
  const link = (to: string, text: string): string =>
    `<a href="${to}"${to === address ? ' aria-current="page"' : ''}>${text}</a>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="page/style.css">
<script type="module" src="page/extras/web/page/${address === 'docs' ? 'reference' : 'main'}${SUFFIX}"></script>
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

const requestPanel = (id: string, open = ''): string => `<div id="${id}">
      <p class="words" role="status" tabindex="-1"></p>
      <div class="curl" hidden><p class="row ends"><span class="hint">With curl; $API_KEY is your API key</span>
        <button type="button">Copy</button></p><pre tabindex="0"><code></code></pre></div>
      <details class="received" hidden${open}><summary>The response as it arrived</summary>
        <pre tabindex="0"></pre></details></div>`;

const BODY = `<noscript><p>This page needs JavaScript; the service does not. The <a href="docs">reference</a> has a
  curl line for each operation.</p></noscript>
<p id="start">Loading. If this text stays, the page’s module did not load: reload the page.</p>
<main id="main" tabindex="-1" hidden>
  <details id="key-card" class="card" open>
    <summary>API key <span id="key-state" class="hint"></span></summary>
    <form id="key-form" class="row">
      <label>The key itself, not its sha256: digest
        <input id="key" type="password" autocomplete="off" spellcheck="false"></label>
      <button class="main">Use this key</button>
      <label class="side"><input id="keep" type="checkbox"> Keep it in this tab</label>
      <button id="forget" type="button">Forget it</button>
    </form>
    <p class="hint">If no key is configured, the service makes one at each start, and prints it in the
      terminal. Otherwise whoever runs the service has the keys.</p>
  </details>
  <section id="list" class="card" aria-labelledby="list-title">
    <div class="row ends"><h2 id="list-title">Pets</h2>
      <form id="query" class="row">
        <label class="side">Status <select id="filter"><option value="">any</option>
          <option>available</option><option>pending</option><option>sold</option></select></label>
        <label class="side">From id <input id="from" inputmode="numeric" autocomplete="off"></label>
        <button id="refresh" type="button">Refresh</button></form></div>
    ${requestPanel('list-response')}
    <div id="pets" class="stack"><table id="table" hidden><caption id="caption" tabindex="-1"></caption>
      <thead><tr><th scope="col" class="number">Id</th><th scope="col">Name</th>
        <th scope="col" class="number">Category</th><th scope="col">Status</th></tr></thead>
      <tbody id="rows"></tbody></table>
    <p id="empty" class="empty">Enter an API key to see the pets.</p>
    <nav class="row ends" aria-label="Pages">
      <button id="previous" type="button" hidden>Previous page</button>
      <button id="next" type="button" hidden>Next page</button></nav></div>
  </section>
  <form id="add-form" class="card" aria-labelledby="add-title">
    <h2 id="add-title">Add a pet</h2>
    <label>Name <input id="name" autocomplete="off" required></label>
    <label>Category id <input id="category" inputmode="numeric" value="1"></label>
    <label>Status <select id="status"><option value="">none</option><option selected>available
      </option><option>pending</option><option>sold</option></select></label>
    <button class="main">Add the pet</button>
    <p class="hint">If the response is lost, add it again: the Idempotency-Key stays the same, so the
      pet is stored once.</p>
    ${requestPanel('add-response')}
    <button id="show" type="button" hidden>Show it in the list</button>
  </form>
  <section id="more" class="card" aria-labelledby="more-title">
    <div class="row ends"><h2 id="more-title">Metrics</h2>
      <button id="metrics" type="button">Show the metrics</button></div>
    ${requestPanel('metrics-response', ' open')}
  </section>
</main>
`;

export const PAGE_HTML: string = htmlDocument(
  './',
  'Petstore',
  'List the pets, add one, and see each request as a curl line, with its response.',
  BODY,
);
