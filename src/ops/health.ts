/** Health: what a supervisor asks, without a key. */

import { byteString } from '../base/byte-string.ts';
import type { Operation } from '../http/operation.ts';
import { jsonReply, type Reply } from '../http/reply.ts';
import { StoreUnavailableError } from '../model/pet-store.ts';

/** `problem` tells why the service is not ready for requests; undefined while it is. */
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
        if (found !== undefined) throw new StoreUnavailableError(found);
        return OK;
      },
    },
  ];
}

const OK: Reply = jsonReply(200, byteString('{"status":"ok"}'));
