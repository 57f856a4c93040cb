/** The log as JSON, one line for each event: `{"time":…,"level":…,"event":…,…details}`. */

import type { Log } from '../base/log.ts';

/** JSON.stringify escapes every control character, so no value can forge a line. */
export function createJsonLog(writeLine: (line: string) => void): Log {
  return (level, event, details = {}) => {
    const entry = { time: new Date().toISOString(), level, event, ...details };
    const plain = (_key: string, value: unknown): unknown =>
      typeof value === 'bigint' ? String(value) : value;
    writeLine(JSON.stringify(entry, plain));
  };
}
