/** The log as JSON, one line per event: `{"time":…,"level":…,"event":…,…details}`. */

import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import type { Logger } from '../core/base/logger.ts';
import { cut } from '../core/base/quote.ts';

/** JSON.stringify escapes each line feed, so no value can forge a line. */
export function createJsonLogger(writeLine: (line: string) => void): Logger {
  return (level, event, details = {}) => {
    const entry = { time: new Date().toISOString(), level, event, ...details };
    const plain = (_key: string, value: unknown): unknown => {
      if (typeof value === 'bigint') return String(value);
      return typeof value === 'string' ? cut(value, MAX_TEXT_LENGTH) : value;
    };
    writeLine(JSON.stringify(entry, plain));
  };
}

/** Limits a line, whatever a client sent or a disk reported. A stack trace fits. */
const MAX_TEXT_LENGTH = 4096;

/**
 * Writes lines to a stream, and drops them while more than 1 MiB waits for its reader, who may have
 * stopped: `docker logs` that nobody reads, a terminal after Ctrl+S.
 */
export class LineWriter {
  /** How many lines were dropped, or could not be written, for example to a full disk. */
  dropped = 0;
  readonly #stream: Writable & { readonly fd?: number };
  readonly #onResume: (dropped: number) => void;

  /** When the reader has read all, calls `onResume` with how many lines were dropped. */
  constructor(stream: Writable & { readonly fd?: number }, onResume: (dropped: number) => void) {
    this.#stream = stream;
    this.#onResume = onResume;
    // A terminal blocks the process by default. Node.js has no documented way to change that.
    const { _handle } = stream as { readonly _handle?: { setBlocking?(isOn: boolean): void } };
    if ((stream as Partial<WriteStream>).isTTY) _handle?.setBlocking?.(false);
  }

  write(line: string): void {
    if (this.#stream.writableLength <= MAX_WAITING) {
      this.#stream.write(`${line}\n`, (error) => {
        if (error) this.dropped += 1;
      });
      return;
    }
    const before = this.dropped;
    this.dropped += 1;
    if (this.#stream.listenerCount('drain') > 0) return;
    this.#stream.once('drain', () => this.#onResume(this.dropped - before));
  }

  /**
   * Writes the last line before the process ends, which would not wait for the stream. Throws if
   * the reader of the log has stopped (EAGAIN) or gone (EPIPE).
   */
  writeLast(line: string): void {
    // If lines wait for the reader, one more would, too.
    if (this.#stream.writableLength === 0) writeSync(this.#stream.fd!, `${line}\n`);
  }
}

/** UTF-16 code units: about 5,000 lines of the access log. */
const MAX_WAITING: number = 1 << 20;
