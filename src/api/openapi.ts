/** placeholder until the description is written */
import type { Operation } from '../http/operation.ts';
import { jsonReply } from '../http/reply.ts';
export function openapiOperation(): Operation {
  return { name: 'openapi', method: 'GET', path: '/openapi.json', needsKey: false, handle: () => jsonReply(200, Buffer.from('{}')) };
}
