/**
 * The reference for people: `GET /docs`, which needs no API key. It is the whole description that
 * `GET /openapi.json` serves, in the order in which a reader needs it, and is rendered once, at
 * start. Each part has an anchor, and its heading links to it.
 */

import { BASE_PATH } from '../../api/operations.ts';
import type { Operation } from '../../http/operation.ts';
import type { OpenApi, OperationObject } from '../openapi/types.ts';
import { htmlDocument } from '../page/html.ts';
import { pageOperation } from '../page/page.ts';
import { code, inline, markup, prose, sample, type Markup, type Part } from './markup.ts';
import { operationSection, responseMarkup, schemaSection } from './operation-markup.ts';

export const DOCS_PATH = '/docs';

export function docsOperation(description: OpenApi): Operation {
  const intro = 'Every operation, parameter, response, schema and error code of this service.';
  const body = referenceBody(description);
  const text = htmlDocument('docs', 'reference', 'Petstore reference', intro, body);
  return pageOperation(DOCS_PATH, 'text/html', text, 'docs');
}

interface Chapter {
  readonly title: string;
  readonly text: Part;
  /** The chapter's entries in the table of contents: an anchor and a text each. */
  readonly parts?: readonly (readonly [id: string, text: string])[];
}

function referenceBody(description: OpenApi): string {
  const { info, tags } = description;
  const { schemas, responses, securitySchemes } = description.components;
  const [overview = '', ...sections] = info.description.split(/^## /m);
  const chapters: readonly Chapter[] = [
    { title: 'Overview', text: [prose(overview), facts(description)] },
    {
      title: 'Authentication',
      text: Object.entries(securitySchemes).map(
        ([name, { type, scheme, description: words }]) => markup`${prose(words)}
<p class="hint">${name} · ${type} · ${scheme}</p>`,
      ),
    },
    ...sections.map((section) => {
      const end = section.indexOf('\n');
      return { title: section.slice(0, end), text: prose(section.slice(end).trim()) };
    }),
    ...tags.map((tag) => operationChapter(description, tag)),
    {
      title: 'Schemas',
      text: Object.entries(schemas).map(schemaSection),
      parts: Object.keys(schemas).map((name) => [`schemas-${name}`, name]),
    },
    {
      title: 'Shared responses',
      text: Object.entries(responses).map(([name, response]) => {
        const id = `responses-${name}`;
        const title = markup`<a href="#${id}">${name}</a>`;
        return markup`<div class="card">${responseMarkup(id, title, response, responses)}</div>`;
      }),
    },
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
  return markup`<li><a href="#${idOf(title)}">${title}</a><ul>${items}</ul></li>\n`;
}

function chapterSection({ title, text }: Chapter): Markup {
  const id = idOf(title);
  return markup`
<section id="${id}"><h2><a href="#${id}">${title}</a></h2>
${text}</section>`;
}

/** With its quotes: a test takes the text `from '…'` for an import of this file. */
const CLIENT_MODULE = "'petstore/client'";

const prefixOf = ({ servers }: OpenApi): string => servers[0]!.url.replace(/\/$/, '');

function facts(description: OpenApi): Markup {
  const { openapi, info, servers } = description;
  const { title, version, license, contact } = info;
  const from = servers.map(({ url, description: words }) => markup`server ${code(url)}: ${words}`);
  const address = markup`<span class="address">http://127.0.0.1:8080</span>`;
  return markup`<fieldset class="row"><legend>Examples for</legend>
<label class="side"><input id="as-curl" type="radio" name="language" checked>curl</label>
<label class="side"><input id="as-javascript" type="radio" name="language">JavaScript</label></fieldset>
${sample('curl', markup`PETSTORE='${address}'\nAPI_KEY='…'`, true)}
${sample(
  'JavaScript',
  markup`import { createClient } from ${CLIENT_MODULE};

const baseUrl = '${address}${prefixOf(description)}${BASE_PATH}';
const client = createClient({ baseUrl, apiKey: '…' });`,
  true,
)}
<p class="hint">${title} ${version} · <a href="openapi.json">OpenAPI ${openapi}</a> ·
${from} · license ${license.identifier} · contact: ${contact.name}</p>`;
}

function operationChapter(description: OpenApi, tag: OpenApi['tags'][number]): Chapter {
  const { paths, security, components } = description;
  const here = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, OperationObject>)
      .filter(([, { tags }]) => tags.includes(tag.name))
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path: `${prefixOf(description)}${path}`,
        needsKey: (operation.security ?? security).length > 0,
        operation,
      })),
  );
  const sections = here.map((described) => operationSection(described, components.responses));
  return {
    title: tag.name,
    text: [prose(tag.description), sections],
    parts: here.map(({ method, path, operation }) => [operation.operationId, `${method} ${path}`]),
  };
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
