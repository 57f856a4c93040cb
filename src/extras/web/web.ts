/**
 * What a service has for people: the OpenAPI description, and perhaps the page and the reference.
 */

import type { CommonOptions, Extension, ServiceView } from '../../core/app/service-options.ts';
import { condition, type Check } from '../../core/base/option-error.ts';
import { DOCS_PATH, docsOperation } from './docs/docs.ts';
import { describeService, OPENAPI_PATH, openapiOperation } from './openapi/openapi.ts';
import { createPathHint } from './openapi/path-hint.ts';
import { pageOperations } from './page/page.ts';

export interface WebOptions {
  /** A page at `/` and a reference at `/docs`, both without an API key. Off by default. */
  readonly page?: boolean | undefined;
}

export const WEB_CHECKS: Readonly<Record<keyof WebOptions, Check>> = {
  page: condition('true or false', (value) => typeof value === 'boolean'),
};

/**
 * Returns the operations and the hints of unknown paths. All of it is about the operations that the
 * service has, whatever they are: they are known when the first request comes.
 */
export function webExtension(
  { prefix = '', page: hasPage = false }: WebOptions & CommonOptions,
  { operations }: Pick<ServiceView, 'operations'>,
): Extension {
  const describe = () => describeService(prefix, operations());
  const listPath = `${prefix}${hasPage ? DOCS_PATH : OPENAPI_PATH}`;
  let pathHint: ReturnType<typeof createPathHint> | undefined;
  return {
    operations: [
      openapiOperation(describe),
      ...(hasPage ? [...pageOperations(), docsOperation(describe)] : []),
    ],
    hintFor(path, request) {
      pathHint ??= createPathHint(operations(), prefix, listPath);
      return pathHint(path, request);
    },
  };
}
