/**
 * Reports a lasting failure to operators and to the readiness check.
 *
 * For example, a disk is full for an hour, and each of 100 creates a second fails. The log gets one
 * line when that begins, with its cause, one line for each other cause, at most one a second, and
 * one line when it is over. A cause that comes back is not logged again, since two may alternate.
 * Only another attempt can show that the failure is over: `recent` has the message for five
 * seconds after the last one.
 */

import { messageOf, type Logger } from './logger.ts';
import type { Clock } from './system.ts';

const RECENT_MS = 5_000;
const LOG_PAUSE_MS = 1_000;
/** How many causes are remembered. */
const MAX_CAUSES = 100;

export class FailureReport {
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #began: string;
  readonly #ended: string;
  #last: { readonly message: string; readonly at: number } | undefined;
  /** The details in the log, until the failure is over. */
  readonly #logged: Set<string> = new Set();
  #loggedAt = -Infinity;

  /** `began` and `ended` are the events in the log. */
  constructor(logger: Logger, clock: Pick<Clock, 'now'>, began: string, ended: string) {
    this.#logger = logger;
    this.#clock = clock;
    this.#began = began;
    this.#ended = ended;
  }

  /** The message of the last failure, if it is recent. */
  get recent(): string | undefined {
    const last = this.#last;
    return last !== undefined && this.#clock.now() - last.at < RECENT_MS ? last.message : undefined;
  }

  /**
   * Records a failure, with a message for clients. Other `details` than those in the log are
   * logged, too.
   */
  record(message: string, details?: Readonly<Record<string, string>>): void {
    const at = this.#clock.now();
    this.#last = { message, at };
    const logged = details ?? { cause: message };
    const text = JSON.stringify(logged);
    if (this.#logged.has(text) || at - this.#loggedAt < LOG_PAUSE_MS) return;
    if (this.#logged.size === MAX_CAUSES) this.#logged.clear();
    this.#logged.add(text);
    this.#loggedAt = at;
    this.#logger('error', this.#began, logged);
  }

  /** Records a success. */
  clear(): void {
    if (this.#logged.size > 0) this.#logger('info', this.#ended);
    this.#last = undefined;
    this.#logged.clear();
  }
}

/**
 * Returns the message for clients, which names no path. A message of the system is cut off before
 * its system call and path. Any other message with a path is for the log only.
 */
export function clientMessage(error: unknown): string {
  const message = messageOf(error);
  const { syscall } = Object(error) as { readonly syscall?: unknown };
  const cut = syscall === undefined ? undefined : /^[A-Z0-9]+: [^,]*(?=, )/.exec(message)?.[0];
  return cut ?? (/(^|\W)[/\\]/.test(message) ? 'the log shows the cause' : message);
}
