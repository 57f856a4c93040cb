/** Time and randomness as a value, so that tests need not wait. */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `callback` once after `ms`, unless the returned function is called before. */
  startTimer(ms: number, callback: () => void): () => void;
  /** A number from 0 to below 1. */
  random(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  startTimer(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/**
 * Resolves after `ms`. Rejects with the reason of `signal` if that is aborted. The listener is not
 * removed, because each call has a new signal.
 */
export function wait(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stopTimer = clock.startTimer(ms, resolve);
    const stop = (): void => {
      stopTimer();
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
