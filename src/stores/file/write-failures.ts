/**
 * Write failures: creates that could not be stored although the store may write, on a full disk,
 * for example. They are reported to
 *
 * - the log, at most once a second;
 * - clients, without the path;
 * - the readiness check, for five seconds: only a create can show that it is over.
 */

import { messageOf } from '../../base/log.ts';
import type { StoreDeps } from './store-deps.ts';

const RECENT_MS = 5000;
const LOG_PAUSE_MS = 1000;

export class WriteFailures {
  readonly #deps: Pick<StoreDeps, 'log' | 'clock' | 'paths'>;
  #last: { readonly message: string; readonly at: number } | undefined;
  #loggedAt = -Infinity;

  constructor(deps: Pick<StoreDeps, 'log' | 'clock' | 'paths'>) {
    this.#deps = deps;
  }

  /** The last failure's message for clients, if it is recent. */
  get recent(): string | undefined {
    const last = this.#last;
    const isRecent = last !== undefined && this.#deps.clock.now() - last.at < RECENT_MS;
    return isRecent ? last.message : undefined;
  }

  /** Records that creates could not be stored, and returns the message for clients. */
  record(error: unknown): string {
    const { log, clock, paths } = this.#deps;
    const at = clock.now();
    if (at - this.#loggedAt >= LOG_PAUSE_MS) {
      this.#loggedAt = at;
      const details = { cause: messageOf(error), dataFile: paths.snapshot };
      log('error', 'Pets cannot be stored', details);
    }
    const message = `Pets cannot be stored: ${clientMessage(error)}`;
    this.#last = { message, at };
    return message;
  }

  /** Records that pets were stored. */
  clear(): void {
    if (this.#last !== undefined) this.#deps.log('info', 'Pets are stored again');
    this.#last = undefined;
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
