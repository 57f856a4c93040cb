/**
 * Creates that fail, because etcd refuses them or leaves them in doubt. The log has one line when
 * they begin to fail, with the cause, and one when a create is stored again. Readiness has the
 * cause for five seconds after the last failure: only another create can find out that it is over.
 */

import type { Log } from '../../base/log.ts';

const RECENT_MS = 5_000;

export class CreateFailures {
  readonly #now: () => number;
  readonly #tell: Log;
  #last: { readonly cause: string; readonly at: number } | undefined;

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(now: () => number, tell: Log) {
    this.#now = now;
    this.#tell = tell;
  }

  /** The cause of the last failure, while that is recent. */
  get recent(): string | undefined {
    const last = this.#last;
    return last !== undefined && this.#now() - last.at < RECENT_MS ? last.cause : undefined;
  }

  record(cause: string): void {
    if (this.#last === undefined) this.#tell('error', 'Creates fail', { cause });
    this.#last = { cause, at: this.#now() };
  }

  /** A create was stored. */
  clear(): void {
    if (this.#last !== undefined) this.#tell('info', 'Creates are stored again');
    this.#last = undefined;
  }
}
