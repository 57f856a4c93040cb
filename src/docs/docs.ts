/**
 * The reference for people: `GET /docs`, rendered once, at the start, from the description that
 * `GET /openapi.json` serves. Nobody needs a key for it, and it has no script.
 */

import type { Operation } from '../http/operation.ts';
import type { OpenApi } from '../openapi/types.ts';
import { htmlDocument } from '../page/html-document.ts';
import { pageOperation } from '../page/page.ts';
import { referenceBody } from './reference.ts';

export const DOCS_PATH = '/docs';

export function docsOperation(description: OpenApi): Operation {
  const text = htmlDocument({
    address: 'docs',
    title: 'Petstore reference',
    intro: 'Every operation, parameter, response, schema and error code of this service.',
    body: referenceBody(description),
  });
  return pageOperation(DOCS_PATH, 'text/html', text, 'docs');
}
