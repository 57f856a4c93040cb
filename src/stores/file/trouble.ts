/**
 * Trouble: pets cannot be stored. Three are told of it:
 *
 * - the log, once a second at most;
 * - clients, without the path;
 * - those who ask whether there is a problem, for five seconds: only a create can tell that it is over.
 */

import { messageOf, type Log } from '../../base/log.ts';

const RECENT_MS = 5000;
const LOG_PAUSE_MS = 1000;

export class Trouble {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #dataFile: string;
  #last: { readonly message: string; readonly at: number } | undefined;
  #toldAt = -Infinity;

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(log: Log, now: () => number, dataFile: string) {
    this.#log = log;
    this.#now = now;
    this.#dataFile = dataFile;
  }

  /** What clients are told; undefined while pets are stored. */
  get message(): string | undefined {
    return this.#last?.message;
  }

  /** The same, while it is recent. */
  get recent(): string | undefined {
    const isRecent = this.#last !== undefined && this.#now() - this.#last.at < RECENT_MS;
    return isRecent ? this.message : undefined;
  }

  /** Pets could not be stored; returns what clients are told. */
  note(error: unknown): string {
    const cause = messageOf(error);
    const at = this.#now();
    if (at - this.#toldAt >= LOG_PAUSE_MS) {
      this.#toldAt = at;
      this.#log('error', 'Pets cannot be stored', { cause, dataFile: this.#dataFile });
    }
    const message = `Pets cannot be stored: ${withoutPath(cause)}`;
    this.#last = { message, at };
    return message;
  }

  /** Pets were stored. */
  end(): void {
    if (this.#last !== undefined) this.#log('info', 'Pets are stored again');
    this.#last = undefined;
  }
}

/** What a client is told ends before the path that the system's message may have in it. */
export function withoutPath(cause: string): string {
  return cause.replace(/, .*$/s, '');
}
