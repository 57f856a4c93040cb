/**
 * Creates that fail, because etcd refuses them or leaves them in doubt. The first failure is
 * logged, with its cause, and so is the next create that is stored. Readiness reports the cause for
 * five seconds after the last failure: only another create can find out whether it persists.
 */

import type { Log } from '../../base/log.ts';

const RECENT_MS = 5_000;

export class CreateFailures {
  readonly #now: () => number;
  readonly #tell: Log;
  #last: { readonly cause: string; readonly at: number } | undefined;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number, tell: Log) {
    this.#now = now;
    this.#tell = tell;
  }

  /** The cause of the last failure, if it is recent. */
  get recent(): string | undefined {
    const last = this.#last;
    return last !== undefined && this.#now() - last.at < RECENT_MS ? last.cause : undefined;
  }

  record(cause: string): void {
    if (this.#last === undefined) this.#tell('error', 'Creates fail', { cause });
    this.#last = { cause, at: this.#now() };
  }

  /** Records that a create was stored. */
  clear(): void {
    if (this.#last !== undefined) this.#tell('info', 'Creates are stored again');
    this.#last = undefined;
  }
}
