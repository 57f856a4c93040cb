/** Logger: how the code reports events. The process decides where they go, and in what form. */

import { constants } from 'node:os';
import { inspect } from 'node:util';

export type LogLevel = 'info' | 'warn' | 'error';

/** Fields to search for, never an API key or a pet. */
export type LogDetails = Readonly<Record<string, string | number | boolean | bigint>>;

/** `event` is one plain sentence. */
export type Logger = (level: LogLevel, event: string, details?: LogDetails) => void;

export const silentLogger: Logger = () => undefined;

/** For a service without a logger: whoever embeds it learns why a request failed. */
export const warningLogger: Logger = (level, event, { cause } = {}) => {
  if (level !== 'error') return;
  process.emitWarning(cause === undefined ? event : `${event}: ${cause}`, 'PetstoreWarning');
};

/** Wraps a logger so that it never throws: what is logged must not fail because of it. */
export function safeLogger(logger: Logger): Logger {
  return (...entry) => {
    try {
      const returned: unknown = logger(...entry);
      // TypeScript takes an async function for one that returns nothing.
      if (returned instanceof Promise) returned.catch(() => undefined);
    } catch {
      // There is no other place to report it.
    }
  };
}

/** Returns the message of a thrown value. libuv has no name for the error of a used-up quota. */
export function messageOf(error: unknown): string {
  const { errno, syscall, path } = Object(error) as NodeJS.ErrnoException;
  if (errno === -constants.errno.EDQUOT) {
    return `EDQUOT: disk quota exceeded, ${syscall}${path === undefined ? '' : ` '${path}'`}`;
  }
  if (error instanceof Error) return error.message;
  // Not every value has a text: String throws for an object without a prototype.
  return typeof error === 'string' ? error : inspect(error);
}
