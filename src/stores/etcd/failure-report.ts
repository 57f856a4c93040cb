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
  #last: { readonly cause: string; readonly key?: string; readonly at: number } | undefined;

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

  /** Records a failure, or undefined for a success. Another etcd key makes it a new failure. */
  record(failure: { readonly cause: string; readonly key?: string } | undefined): void {
    const last = this.#last;
    this.#last = failure && { ...failure, at: this.#clock.now() };
    if (failure === undefined && last !== undefined) this.#tell('info', this.#ended);
    const isNew = last === undefined || last.key !== failure?.key;
    if (failure !== undefined && isNew) this.#tell('error', this.#began, failure);
  }
}
