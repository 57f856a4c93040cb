/** Health checks for supervisors, without an API key. */

import { unavailable } from '../http/api-error.ts';
import type { Operation } from '../http/operation.ts';
import { jsonResponse, type ApiResponse } from '../http/api-response.ts';

/** `problem` returns why the service is not ready for requests, or undefined if it is ready. */
export function healthOperations(problem: () => string | undefined): readonly Operation[] {
  return [
    healthOperation('livez', () => OK),
    healthOperation('readyz', () => {
      const found = problem();
      if (found !== undefined) throw unavailable(found);
      return OK;
    }),
  ];
}

function healthOperation(name: string, handle: () => ApiResponse): Operation {
  return { name, method: 'GET', path: `/${name}`, needsKey: false, handle };
}

const OK: ApiResponse = jsonResponse(200, '{"status":"ok"}');
