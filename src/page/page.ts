/**
 * The page for people: `GET /`, and what it needs, below `/page/`, for which nobody needs a key.
 *
 * Its modules are those of this package, as they lie beside this one: a fixed list of them, and
 * nothing else, is served. Where TypeScript runs as it is, they go out with their types stripped.
 */

import { readFile } from 'node:fs/promises';
import * as node from 'node:module';
import { textResponse, type ApiResponse } from '../http/api-response.ts';
import type { Operation } from '../http/operation.ts';
import { pageHtml } from './html.ts';
import { PAGE_STYLE } from './style.ts';

/** All that the page's module imports, by their path from the root of the modules. */
export const PAGE_MODULES: readonly string[] = [
  ...['page/main', 'page/answer-place', 'base/int64', 'base/quote', 'model/pet', 'client/client'],
  ...['client/answers', 'client/clock', 'client/exact-json', 'client/link-header'],
  ...['client/pet-store-error', 'client/requests', 'client/retry-delay', 'client/send'],
];

/** Of this module, and so of those beside it: `.js`, or `.ts` where the sources run. */
const SUFFIX: string = import.meta.url.slice(-3);

export function pageOperations(): readonly Operation[] {
  const modules = PAGE_MODULES.map((name) => `${name}${SUFFIX}`);
  return [
    operation('/', 'text/html', () => pageHtml(`page/page/main${SUFFIX}`)),
    operation('/page/style.css', 'text/css', () => PAGE_STYLE),
    ...modules.map((name) => operation(`/page/${name}`, 'text/javascript', () => readModule(name))),
  ];
}

function operation(path: string, type: string, read: () => string | Promise<string>): Operation {
  const handle = async (): Promise<ApiResponse> =>
    textResponse(200, `${type}; charset=utf-8`, await read(), SAFE_HEADERS);
  return { name: 'page', method: 'GET', path, needsKey: false, handle };
}

/** Nothing from elsewhere, nothing inline, in nobody's frame, and no address told to others. */
const SAFE_HEADERS: readonly string[] = [
  ...['Referrer-Policy', 'no-referrer', 'Content-Security-Policy'],
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
];

async function readModule(name: string): Promise<string> {
  const text = await readFile(new URL(`../${name}`, import.meta.url), 'utf8');
  if (SUFFIX === '.js') return text;
  // Newer than the types of Node that this is compiled with.
  const { stripTypeScriptTypes } = node as { stripTypeScriptTypes?: (text: string) => string };
  return stripTypeScriptTypes?.(text) ?? CANNOT_STRIP;
}

/** In the place of each module: the sources run by other means than Node's own. */
const CANNOT_STRIP = `document.querySelector('#start').textContent =
  'The page needs the built service: npm run build, then node dist/server.js.';`;
