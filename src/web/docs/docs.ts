/**
 * The reference for people: `GET /docs`. It is rendered once, at start, from the description that
 * `GET /openapi.json` serves. It needs no API key.
 */

import type { Operation } from '../../http/operation.ts';
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
    script: 'reference',
    body: referenceBody(description),
  });
  return pageOperation(DOCS_PATH, 'text/html', text, 'docs');
}
