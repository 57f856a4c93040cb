/**
 * Reports a failure to operators: one log line when it begins, with its cause, and one when it is
 * over. For a failure that only another attempt can show to be over, `recent` has its cause for
 * five seconds after the last attempt.
 */

import type { Log } from '../../base/log.ts';
import type { EtcdClock } from './etcd-clock.ts';

const RECENT_MS = 5_000;

export class FailureReport {
  readonly #tell: Log;
  readonly #clock: EtcdClock;
  readonly #began: string;
  readonly #ended: string;
  #last: { readonly cause: string; readonly key: string | undefined; at: number } | undefined;

  /** `began` and `ended` are the events in the log. */
  constructor(tell: Log, clock: EtcdClock, began: string, ended: string) {
    this.#tell = tell;
    this.#clock = clock;
    this.#began = began;
    this.#ended = ended;
  }

  /** The cause of the last failure, if it is recent. */
  get recent(): string | undefined {
    const last = this.#last;
    return last !== undefined && this.#clock.now() - last.at < RECENT_MS ? last.cause : undefined;
  }

  /** Records the cause of a failure, or a success. Another etcd key makes it a new failure. */
  record(cause?: string, key?: string): void {
    const last = this.#last;
    this.#last = cause === undefined ? undefined : { cause, key, at: this.#clock.now() };
    if (cause === undefined) {
      if (last !== undefined) this.#tell('info', this.#ended);
    } else if (last === undefined || last.key !== key) {
      this.#tell('error', this.#began, key === undefined ? { cause } : { key, cause });
    }
  }
}
