/** The log as JSON, one line per event: `{"time":…,"level":…,"event":…,…details}`. */

import type { Log } from '../base/log.ts';

/** JSON.stringify escapes each line feed, so no value can forge a line. */
export function createJsonLog(writeLine: (line: string) => void): Log {
  return (level, event, details = {}) => {
    const entry = { time: new Date().toISOString(), level, event, ...details };
    const plain = (_key: string, value: unknown): unknown => {
      if (typeof value === 'bigint') return String(value);
      if (typeof value !== 'string' || value.length <= MAX_TEXT_LENGTH) return value;
      return `${value.slice(0, MAX_TEXT_LENGTH)}…`;
    };
    writeLine(JSON.stringify(entry, plain));
  };
}

/** Limits a line, whatever a client sent or a disk reported. A stack trace fits. */
const MAX_TEXT_LENGTH = 4096;
