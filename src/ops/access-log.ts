/**
 * The access log: one line for each answer. The query is left out, and no header field is in it.
 */

import type { Log } from '../base/log.ts';
import type { Answer } from '../http/answer.ts';

export function logAnswer(log: Log, answer: Answer, seconds: number): void {
  log('info', 'Answered', {
    requestId: answer.requestId,
    method: answer.request.method ?? '',
    path: answer.path,
    operation: answer.operation,
    status: answer.status,
    bytes: answer.bodyBytes,
    durationMs: Math.round(seconds * 1e6) / 1000,
  });
}
