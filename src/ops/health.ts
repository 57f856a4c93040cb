/** Health checks for supervisors, without an API key. */

import { unavailable } from '../http/api-error.ts';
import type { Operation } from '../http/operation.ts';
import { jsonResponse, type ApiResponse } from '../http/api-response.ts';

/** `problem` returns why the service is not ready for requests, or undefined if it is ready. */
export function healthOperations(problem: () => string | undefined): readonly Operation[] {
  return [
    {
      name: 'livez',
      method: 'GET',
      path: '/livez',
      needsKey: false,
      handle: () => OK,
    },
    {
      name: 'readyz',
      method: 'GET',
      path: '/readyz',
      needsKey: false,
      handle: () => {
        const found = problem();
        if (found !== undefined) throw unavailable(found);
        return OK;
      },
    },
  ];
}

const OK: ApiResponse = jsonResponse(200, '{"status":"ok"}');
