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
  const operations = [
    pageOperation('/', 'text/html', PAGE_HTML),
    pageOperation('/page/style.css', 'text/css', PAGE_STYLE),
  ];
  // The modules that the browser is asked for. It finds the others by their imports: the loop also
  // visits what is added during it.
  const names = new Set([`extras/web/page/main${SUFFIX}`, `extras/web/page/reference${SUFFIX}`]);
  for (const name of names) {
    const text = readModule(name);
    operations.push(pageOperation(`/page/${name}`, 'text/javascript', text));
    for (const [, target] of text.matchAll(/^(?:import|export)\b[^;]*?from ['"](\.[^'"]+)/gm)) {
      names.add(posix.join(name, '..', target!));
    }
  }
  return operations;
}

/**
 * Serves a text without an API key, with a strict Content-Security-Policy. A text that is given as
 * a function is made at the first request.
 */
export function pageOperation(
  path: string,
  type: string,
  text: string | (() => string),
  name = 'page',
): Operation {
  let response: HttpResponse | undefined;
  const makeResponse = (): HttpResponse => {
    const made = typeof text === 'string' ? text : text();
    return textResponse(200, `${type}; charset=utf-8`, made, SAFE_HEADERS);
  };
  return {
    name,
    method: 'GET',
    path,
    needsKey: false,
    handle: () => (response ??= makeResponse()),
  };
}

/** Allows nothing from other hosts, nothing inline, no markup from texts, no framing. */
const SAFE_HEADERS: readonly string[] = [
  ...['Cross-Origin-Opener-Policy', 'same-origin', 'Cross-Origin-Resource-Policy', 'same-origin'],
  ...['Referrer-Policy', 'no-referrer', 'Content-Security-Policy'],
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
];

/** `name` is the path below `src`, or `dist`. */
function readModule(name: string): string {
  const text = readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8');
  const { stripTypeScriptTypes } = node as { stripTypeScriptTypes?: (text: string) => string };
  return SUFFIX === '.js' ? text : stripTypeScriptTypes!(text);
}
