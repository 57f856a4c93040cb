/**
 * The access log: one line for each request that got to the listener. The query is left out, and no
 * header field but the request id is in it.
 */

import type { Log } from '../base/log.ts';
import type { RequestRecord } from '../http/request-record.ts';

export function logRequest(log: Log, record: RequestRecord, seconds: number): void {
  log('info', 'Answered', {
    requestId: record.requestId,
    method: record.request.method ?? '',
    path: record.path,
    operation: record.operation,
    status: record.status,
    bytes: record.bodyBytes,
    durationMs: Math.round(seconds * 1e6) / 1000,
  });
}
