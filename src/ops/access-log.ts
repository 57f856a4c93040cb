/**
 * The access log: one line for each request that got to the listener. The query is left out, and no
 * header field but the request id is in it; of an API key it has the name.
 */

import type { Log } from '../base/log.ts';
import type { RequestRecord } from '../http/request-record.ts';

export function logRequest(log: Log, record: RequestRecord, seconds: number): void {
  log('info', 'Answered', {
    requestId: record.requestId,
    method: record.request.method ?? '',
    path: record.facts.path,
    operation: record.facts.prepared?.operation.name ?? '',
    key: record.facts.keyUse?.name ?? '',
    status: record.status,
    bytes: record.bodyBytes,
    durationMs: Math.round(seconds * 1e6) / 1000,
  });
}
