/** Log: how any room tells what happened. The process decides where it goes and in what form. */

export type LogLevel = 'info' | 'warn' | 'error';

/** `event` is one plain sentence; `details` are fields for a search, never a key or a pet. */
export type Log = (
  level: LogLevel,
  event: string,
  details?: Readonly<Record<string, string | number | boolean | bigint>>,
) => void;

export const silent: Log = () => undefined;

/** The same log, but one that never throws: what is told of must not fail because telling does. */
export function safeLog(log: Log): Log {
  return (...entry) => {
    try {
      log(...entry);
    } catch {
      // There is nowhere left to tell it.
    }
  };
}

/** What an unknown thrown value says of itself. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
