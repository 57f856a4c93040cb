/**
 * The page for people: `GET /`, and what it needs, below `/page/`, for which nobody needs a key.
 *
 * Its modules are those of this package: a fixed list, and nothing else, is served. They are read
 * once, at start. If TypeScript runs without a build, they are served with their types stripped.
 */

import { readFileSync } from 'node:fs';
import * as node from 'node:module';
import { textResponse } from '../http/api-response.ts';
import type { Operation } from '../http/operation.ts';
import { pageHtml } from './html.ts';
import { PAGE_STYLE } from './style.ts';

/** All that the page's module imports, by their path from the root of the modules. */
export const PAGE_MODULES: readonly string[] = [
  ...['page/main', 'page/request-panel', 'base/int64', 'base/quote', 'client/retry-delay'],
  ...['base/exact-json', 'base/link-header', 'client/client', 'client/send', 'model/stringify-pet'],
  ...['client/requests', 'client/responses', 'client/clock', 'client/pet-store-error', 'model/pet'],
];

/** Of this module, and so of those beside it: `.js`, or `.ts` where the sources run. */
const SUFFIX: string = import.meta.url.slice(-3);

export function pageOperations(): readonly Operation[] {
  const modules = PAGE_MODULES.map((name) => `${name}${SUFFIX}`);
  return [
    pageOperation('/', 'text/html', pageHtml(`page/page/main${SUFFIX}`)),
    pageOperation('/page/style.css', 'text/css', PAGE_STYLE),
    ...modules.map((name) => pageOperation(`/page/${name}`, 'text/javascript', readModule(name))),
  ];
}

/** Serves a text to anybody, under the page's strict policy. */
export function pageOperation(path: string, type: string, text: string, name = 'page'): Operation {
  const response = textResponse(200, `${type}; charset=utf-8`, text, SAFE_HEADERS);
  return { name, method: 'GET', path, needsKey: false, handle: () => response };
}

/** Nothing from elsewhere, nothing inline, in nobody's frame, and no address told to others. */
const SAFE_HEADERS: readonly string[] = [
  ...['Referrer-Policy', 'no-referrer', 'Content-Security-Policy'],
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
];

function readModule(name: string): string {
  try {
    const text = readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
    const { stripTypeScriptTypes } = node as { stripTypeScriptTypes?: (text: string) => string };
    return SUFFIX === '.js' ? text : stripTypeScriptTypes!(text);
  } catch {
    return NO_MODULE;
  }
}

/** Instead of a module that is not there, or that this Node cannot strip of its types. */
const NO_MODULE = `document.querySelector('#start').textContent = 'Build the service: npm run build'`;
