/**
 * The reference on one page: the whole OpenAPI description, in the order in which a reader needs
 * it. Each part has an anchor, and its heading links to it.
 */

import { BASE_PATH } from '../../api/paths.ts';
import type { OpenApi, Tag } from '../openapi/types.ts';
import { code, inline, markup, prose, sample, type Markup } from './markup.ts';
import { describedOperations, operationSection, responseMarkup } from './operation-markup.ts';
import { schemaSections } from './schema-markup.ts';

interface Chapter {
  readonly title: string;
  readonly text: Markup | readonly Markup[];
  /** The chapter's entries in the table of contents: an anchor and a text each. */
  readonly parts?: readonly (readonly [id: string, text: string])[];
}

export function referenceBody(description: OpenApi): string {
  const { components, info, tags } = description;
  const [overview = '', ...sections] = info.description.split(/^## /m);
  const chapters: readonly Chapter[] = [
    { title: 'Overview', text: markup`${prose(overview)}${facts(description)}` },
    { title: 'Authentication', text: authentication(description) },
    ...sections.map(readChapter),
    ...tags.map((tag) => operationChapter(description, tag)),
    {
      title: 'Schemas',
      text: schemaSections(components.schemas),
      parts: Object.keys(components.schemas).map((name) => [`schemas-${name}`, name]),
    },
    { title: 'Shared responses', text: sharedResponses(description) },
    { title: 'Error codes', text: errorCodes(description) },
  ];
  return markup`<div class="reference">
<details class="contents" open><summary>Contents</summary>
<nav aria-label="Contents"><ul>${chapters.map(contentsEntry)}</ul></nav></details>
<main id="main">${chapters.map(chapterSection)}</main>
</div>
`.html;
}

const idOf = (title: string): string => title.toLowerCase().replaceAll(' ', '-');

function contentsEntry({ title, parts = [] }: Chapter): Markup {
  const items = parts.map(([id, text]) => markup`<li><a href="#${id}">${text}</a></li>`);
  return markup`<li><a href="#${idOf(title)}">${title}</a><ul>${items}</ul></li>
`;
}

function chapterSection({ title, text }: Chapter): Markup {
  const id = idOf(title);
  return markup`
<section id="${id}"><h2><a href="#${id}">${title}</a></h2>
${text}</section>`;
}

/** With its quotes: a test takes the text `from '…'` for an import of this file. */
const CLIENT_MODULE = "'petstore/client'";

function facts({ openapi, info, servers }: OpenApi): Markup {
  const { title, version, license, contact } = info;
  const basePath = `${servers[0]!.url.replace(/\/$/, '')}${BASE_PATH}`;
  const from = servers.map(({ url, description }) => markup`server ${code(url)}: ${description}`);
  const address = markup`<span class="address">http://127.0.0.1:8080</span>`;
  return markup`<fieldset class="row"><legend>Examples for</legend>
<label class="side"><input id="as-curl" type="radio" name="language" checked>curl</label>
<label class="side"><input id="as-javascript" type="radio" name="language">JavaScript</label></fieldset>
${sample('curl', markup`PETSTORE='${address}'\nAPI_KEY='…'`, true)}
${sample(
  'JavaScript',
  markup`import { createClient } from ${CLIENT_MODULE};

const baseUrl = '${address}${basePath}';
const client = createClient({ baseUrl, apiKey: '…' });`,
  true,
)}
<p class="hint">${title} ${version} · <a href="openapi.json">OpenAPI ${openapi}</a> ·
${from} · license ${license.identifier} · contact: ${contact.name}</p>`;
}

function authentication({ components }: OpenApi): readonly Markup[] {
  return Object.entries(components.securitySchemes).map(
    ([name, { type, scheme, description }]) => markup`${prose(description)}
<p class="hint">${name} · ${type} · ${scheme}</p>`,
  );
}

function readChapter(section: string): Chapter {
  const [title = '', ...lines] = section.split('\n');
  return { title, text: prose(lines.join('\n').trim()) };
}

function operationChapter(description: OpenApi, { name, description: words }: Tag): Chapter {
  const here = describedOperations(description).filter(({ operation }) =>
    operation.tags.includes(name),
  );
  const { responses } = description.components;
  const sections = here.map((described) => operationSection(described, responses));
  return {
    title: name,
    text: markup`${prose(words)}${sections}`,
    parts: here.map(({ method, path, operation }) => [operation.operationId, `${method} ${path}`]),
  };
}

function sharedResponses({ components }: OpenApi): readonly Markup[] {
  return Object.entries(components.responses).map(([name, response]) => {
    const id = `responses-${name}`;
    const title = markup`<b><a href="#${id}">${name}</a></b>`;
    return markup`<div class="card">${responseMarkup(id, title, response)}</div>`;
  });
}

function errorCodes(description: OpenApi): Markup {
  const rows = Object.entries(description['x-error-codes']).map(
    ([name, { status, description: words, remedy }]) => markup`
<tr id="code-${name}"><th scope="row">${code(name)}</th><td>${status}</td>
<td>${inline(words)}. <b>${inline(remedy)}.</b></td></tr>`,
  );
  return markup`<table><thead><tr><th scope="col">Code</th><th scope="col">Status</th>
<th scope="col">Meaning, and what to do</th></tr></thead><tbody>${rows}</tbody></table>`;
}
