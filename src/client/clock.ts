/** What the client knows of time and chance, as a value, so that tests need not wait. */

export interface Clock {
  /** The time of day in milliseconds since 1970. */
  now(): number;
  /** Calls back once after so many milliseconds, unless the returned function is called before. */
  startTimer(ms: number, callback: () => void): () => void;
  /** From 0 up to, but not including, 1. */
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

/** Waits; rejects at once with the reason of `signal`, which is that of one call, when aborted. */
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
