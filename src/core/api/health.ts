/** Health checks for supervisors, without an API key. */

import { jsonResponse, type HttpResponse } from '../http/http-response.ts';
import type { Operation } from '../http/operation.ts';
import { unavailable } from './api-error.ts';

/** `unreadiness` returns why the service is not ready for creates, or undefined if it is ready. */
export function healthOperations(unreadiness: () => string | undefined): readonly Operation[] {
  return [
    healthOperation('livez', () => OK),
    healthOperation('readyz', () => {
      const reason = unreadiness();
      if (reason !== undefined) throw unavailable(reason);
      return OK;
    }),
  ];
}

function healthOperation(name: string, handle: () => HttpResponse): Operation {
  return { name, method: 'GET', path: `/${name}`, needsKey: false, handle };
}

const OK: HttpResponse = jsonResponse(200, '{"status":"ok"}');
