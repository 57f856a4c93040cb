/**
 * The page's HTML. It is a string in a module, as the style sheet is, so that it is packed with the
 * code. It has no data of a request or a pet. Its addresses are relative, so that the page works
 * below any prefix.
 */

import { htmlDocument } from './html-document.ts';

const requestPanel = (id: string): string => `<div id="${id}">
      <p class="words" role="status" tabindex="-1"></p>
      <div class="curl" hidden><p class="row ends"><span class="hint">The same with curl</span>
        <button type="button">Copy</button></p><pre tabindex="0"><code></code></pre></div></div>`;

/** The id of the page's panel for an operation, by operationId: the target of “Try it”. */
export const PANEL_IDS: Readonly<Record<string, string>> = {
  listPets: 'list',
  createPet: 'add-form',
  metrics: 'more',
};

const BODY = `<noscript><p>This page needs JavaScript; the service does not. The <a href="docs">reference</a> has a
  curl line for each operation.</p></noscript>
<p id="start">Loading. If this text stays, the page’s module did not load: reload the page.</p>
<main id="main" hidden>
  <form id="key-form" class="card">
    <label>API key: the key itself, not its sha256: digest
      <input id="key" type="password" autocomplete="off" spellcheck="false"></label>
    <label class="side"><input id="keep" type="checkbox"> Keep it until this tab is closed</label>
    <button class="main">Use this key</button>
  </form>
  <section id="list" class="card" aria-labelledby="list-title">
    <div class="row ends"><h2 id="list-title">Pets</h2><label class="side">Status
      <select id="filter"><option value="">any</option><option>available</option>
      <option>pending</option><option>sold</option></select></label></div>
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
    <label>Name <input id="name" autocomplete="off"></label>
    <label>Category id <input id="category" inputmode="numeric" value="1"></label>
    <label>Status <select id="status"><option value="">none</option><option selected>available
      </option><option>pending</option><option>sold</option></select></label>
    <button class="main">Add the pet</button>
    ${requestPanel('add-response')}
  </form>
  <section id="more" class="card" aria-labelledby="more-title">
    <div class="row ends"><h2 id="more-title">Metrics</h2>
      <button id="metrics" type="button">Show the metrics</button></div>
    ${requestPanel('metrics-response')}
    <pre id="metrics-text" role="region" tabindex="0" aria-label="Text of the metrics" hidden></pre>
  </section>
</main>
`;

export const PAGE_HTML: string = htmlDocument({
  address: './',
  title: 'Petstore',
  intro: 'List the pets, add one, and see each request as a curl line, with its response.',
  script: 'main',
  body: BODY,
});
