/**
 * The page's HTML: a text in a module, as the style sheet is, so that whatever carries the modules
 * carries the page. Nothing of a request or a pet is put in, and addresses in it are relative, so
 * that it works below any prefix; `script` is that of the page's module.
 */
const answerPlace = (id: string): string => `<div id="${id}">
      <p class="words" role="status" tabindex="-1"></p>
      <div class="curl" hidden><p class="row ends"><span class="hint">The same with curl</span>
        <button type="button">Copy</button></p><pre tabindex="0"><code></code></pre></div></div>`;

export const pageHtml = (script: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Petstore</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="page/style.css">
<script type="module" src="${script}"></script>
<header>
  <h1>Petstore</h1><p>List the pets, add one, and see the request behind each answer.</p>
</header>
<noscript>
  <p>This page needs JavaScript; the service does not. With its address and an API key:</p>
  <pre><code>API_KEY='…' PETSTORE='http://127.0.0.1:8080'
curl -H "Authorization: Bearer $API_KEY" "$PETSTORE/v1/pets?limit=20"
curl -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \\
  -d '{"name":"Rex","categoryId":1,"status":"available"}' "$PETSTORE/v1/pets"</code></pre>
</noscript>
<p id="start">Loading. If this stays, the page’s module did not arrive: load the page again.</p>
<main id="main" hidden>
  <form id="key-form" class="card">
    <label>API key, configured or shown when the service started
      <input id="key" type="password" autocomplete="off" spellcheck="false"></label>
    <label class="side"><input id="keep" type="checkbox"> Keep it while this tab is open</label>
    <button class="main">Use this key</button>
  </form>
  <section id="list" class="card" aria-labelledby="list-title">
    <div class="row ends"><h2 id="list-title">Pets</h2><label class="side">Status
      <select id="filter"><option value="">any</option><option>available</option>
      <option>pending</option><option>sold</option></select></label></div>
    ${answerPlace('list-answer')}
    <div id="pets"><table id="table" hidden><caption id="caption" tabindex="-1"></caption>
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
    ${answerPlace('add-answer')}
  </form>
  <section id="more" class="card" aria-labelledby="more-title">
    <h2 id="more-title">More</h2>
    <p class="row"><a href="openapi.json">Description in OpenAPI 3.1</a>
      <button id="metrics" type="button">Show the metrics</button></p>
    ${answerPlace('metrics-answer')}
    <pre id="metrics-text" tabindex="0" aria-label="Metrics" hidden></pre>
    <p class="hint">In README.md: The interface · Configuration · The map · To add to it. How to run
      it, with systemd, containers and proxies: src/ops/README.md.</p>
  </section>
</main>
`;
