/**
 * The access log: one line for each answer. The query is left out, and no header field is in it.
 */

import type { IncomingMessage } from 'node:http';
import type { Log } from '../base/log.ts';

export interface LoggedAnswer {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly operation: string;
  readonly status: number;
  readonly bodyBytes: number;
  readonly seconds: number;
}

export function logAnswer(log: Log, answer: LoggedAnswer): void {
  const { method = '', url = '' } = answer.request;
  log('info', 'Answered', {
    requestId: answer.requestId,
    method,
    path: url.slice(0, MAX_PATH_LENGTH).replace(/\?.*/s, ''),
    operation: answer.operation,
    status: answer.status,
    bytes: answer.bodyBytes,
    durationMs: Math.round(answer.seconds * 1e6) / 1000,
  });
}

const MAX_PATH_LENGTH = 256;
