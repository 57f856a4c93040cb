/**
 * The access log: one line for each answer. The query is left out, and no header field is in it.
 */

import type { Log } from '../base/log.ts';
import type { Answer } from '../http/answer.ts';
import { loggedPath } from '../http/target.ts';

export function logAnswer(log: Log, answer: Answer, seconds: number): void {
  const { method = '', url = '' } = answer.request;
  log('info', 'Answered', {
    requestId: answer.requestId,
    method,
    path: loggedPath(url),
    operation: answer.operation,
    status: answer.status,
    bytes: answer.bodyBytes,
    durationMs: Math.round(seconds * 1e6) / 1000,
  });
}
