/**
 * The page for people: `GET /`, and its files below `/page/`. It needs no API key.
 *
 * The service serves the modules that the browser imports, and no other file. It reads them once,
 * at start. If TypeScript runs without a build, the service removes the types.
 */

import { readFileSync } from 'node:fs';
import * as node from 'node:module';
import { posix } from 'node:path';
import { textResponse, type HttpResponse } from '../../../core/http/http-response.ts';
import type { Operation } from '../../../core/http/operation.ts';
import { PAGE_HTML, SUFFIX } from './html.ts';
import { PAGE_STYLE } from './style.ts';

export function pageOperations(): readonly Operation[] {
  const serve = (path: string, type: string, text: string): Operation =>
    publicOperation('page', path, () => pageResponse(type, text));
  const operations = [
    serve('/', 'text/html', PAGE_HTML),
    serve('/page/style.css', 'text/css', PAGE_STYLE),
  ];
  const { stripTypeScriptTypes } = node as { stripTypeScriptTypes?: (text: string) => string };
  // The modules that the browser is asked for. It finds the others by their imports: the loop also
  // visits what is added during it.
  const names = new Set([`extras/web/page/main${SUFFIX}`, `extras/web/page/reference${SUFFIX}`]);
  for (const name of names) {
    // Below `src`, or `dist`.
    const source = readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
    const text = SUFFIX === '.js' ? source : stripTypeScriptTypes!(source);
    operations.push(serve(`/page/${name}`, 'text/javascript', text));
    for (const [, target] of text.matchAll(/^(?:import|export)\b[^;]*?from ['"](\.[^'"]+)/gm)) {
      names.add(posix.join(name, '..', target!));
    }
  }
  return operations;
}

/** Returns a GET without an API key. Its response is made once, at the first request. */
export function publicOperation(name: string, path: string, make: () => HttpResponse): Operation {
  let response: HttpResponse | undefined;
  return { name, method: 'GET', path, needsKey: false, handle: () => (response ??= make()) };
}

/** Returns a response with a strict Content-Security-Policy. */
export function pageResponse(type: string, text: string): HttpResponse {
  return textResponse(200, `${type}; charset=utf-8`, text, SAFE_HEADERS);
}

/** Allows nothing from other hosts, nothing inline, no markup from texts, no framing. */
const SAFE_HEADERS: readonly string[] = [
  ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
  ...['Referrer-Policy', 'no-referrer', 'Content-Security-Policy'],
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
];
