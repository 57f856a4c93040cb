/**
 * The page for people: `GET /`, and its files below `/page/`. It needs no API key.
 *
 * The service serves a fixed list of this package's modules, and no other file. It reads them once,
 * at start. If TypeScript runs without a build, the service removes the types.
 */

import { readFileSync } from 'node:fs';
import * as node from 'node:module';
import { textResponse } from '../../http/api-response.ts';
import type { Operation } from '../../http/operation.ts';
import { PAGE_HTML, SUFFIX } from './html.ts';
import { PAGE_STYLE } from './style.ts';

/** The modules of page and reference, with all that they import, by their path below `src`. */
export const PAGE_MODULES: readonly string[] = [
  ...['web/page/main', 'web/page/request-panel', 'web/page/marked-name', 'web/page/element'],
  ...['base/int64', 'base/quote'],
  ...['base/exact-json', 'base/link-header', 'client/client', 'client/send'],
  ...['web/page/reference', 'web/page/curl-line'],
  ...['client/requests', 'client/responses', 'client/pet-store-error', 'model/pet'],
];

export function pageOperations(): readonly Operation[] {
  const modules = PAGE_MODULES.map((name) => `${name}${SUFFIX}`);
  return [
    pageOperation('/', 'text/html', PAGE_HTML),
    pageOperation('/page/style.css', 'text/css', PAGE_STYLE),
    ...modules.map((name) => pageOperation(`/page/${name}`, 'text/javascript', readModule(name))),
  ];
}

/** Serves a text without an API key, with a strict Content-Security-Policy. */
export function pageOperation(path: string, type: string, text: string, name = 'page'): Operation {
  const response = textResponse(200, `${type}; charset=utf-8`, text, SAFE_HEADERS);
  return { name, method: 'GET', path, needsKey: false, handle: () => response };
}

/** Allows nothing from other hosts, nothing inline, no markup from texts, no framing. */
const SAFE_HEADERS: readonly string[] = [
  ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
  ...['Referrer-Policy', 'no-referrer', 'Content-Security-Policy'],
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
];

function readModule(name: string): string {
  try {
    const text = readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
    const { stripTypeScriptTypes } = node as { stripTypeScriptTypes?: (text: string) => string };
    return SUFFIX === '.js' ? text : stripTypeScriptTypes!(text);
  } catch {
    return NO_MODULE;
  }
}

/** Replaces a module that is missing, or whose types this Node cannot remove. */
const NO_MODULE = "document.querySelector('#start').textContent = 'Run npm run build'";
