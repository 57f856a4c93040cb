/**
 * How the service ends: gracefully by a signal or if its store is lost, at its deadline, or at once
 * by a second signal. If its last call of the disk hangs, the process kills itself.
 */

import type { Server } from 'node:http';
import type { App } from '../app.ts';
import { messageOf, type LogDetails, type Logger } from '../core/base/logger.ts';
import { stopServer } from '../core/http/stop-server.ts';

/** How long a graceful shutdown waits before it closes connections with a request in progress. */
const DRAIN_MS = 5_000;
/** How long a graceful shutdown may take. */
const STOP_DEADLINE_S = 10;
/** How often, and how many times, an end looks whether a call of the disk is over: 240 ms. */
const LOOK_MS = 10;
const MAX_LOOKS = 25;
/** Ctrl+C under npm may come twice, from the terminal and from npm: that is one signal. */
const ONE_SIGNAL_MS = 500;

export interface Shutdown {
  /** True from the beginning of a graceful shutdown on. */
  isStopping(): boolean;
  /** Stops by a signal; a second one ends the process, but not the same one within 500 ms. */
  receive(signal: NodeJS.Signals): void;
  /** Exits with `exitCode` after a close, or at the deadline if the pets are safe; else with 1. */
  stop(exitCode: number): Promise<never>;
}

/** `lastLogger` writes what comes directly before the end of the process. It must not throw. */
export function createShutdown(
  app: App,
  server: Server,
  running: NodeJS.Process,
  logger: Logger,
  lastLogger: Logger,
): Shutdown {
  let isStopping = false;
  let signals = 0;
  let justReceived: NodeJS.Signals | undefined;

  /**
   * Ends the process, with a last line that says what has the pets. A call of the disk that is in
   * progress gets a moment. If it hangs, `process.exit` would wait for its thread for ever: then
   * the process kills itself.
   */
  const endNow = (exitCode: number, event: string, details: LogDetails): void => {
    // Under load one call follows another.
    app.drain();
    let looks = 0;
    const endIfIdle = (): void => {
      looks += 1;
      if (app.isWriting() && looks < MAX_LOOKS) return;
      const where = app.durability();
      lastLogger('error', event, { ...details, ...(where === undefined ? {} : { where }) });
      if (app.isWriting()) {
        running.kill(running.pid, 'SIGKILL');
        // Reached as PID 1 only, as in a container: the system ignores its own signal.
        running.abort();
      }
      running.exit(exitCode);
    };
    setInterval(endIfIdle, LOOK_MS);
    endIfIdle();
  };

  /** Counts seconds in which the process runs: while it is suspended, nothing can be finished. */
  const exitAtDeadline = (exitCode: number): void => {
    let seconds = 0;
    setInterval(() => {
      seconds += 1;
      if (seconds < STOP_DEADLINE_S) return;
      const isSafe = [undefined, 'data file'].includes(app.durability());
      endNow(isSafe ? exitCode : 1, 'Graceful shutdown timed out', { seconds });
    }, 1000);
  };

  const stop = async (exitCode: number): Promise<never> => {
    isStopping = true;
    exitAtDeadline(exitCode);
    try {
      await stopServer(server, DRAIN_MS, () => app.drain());
      await app.close();
    } catch (error) {
      logger('error', 'Graceful shutdown failed', { cause: messageOf(error) });
      return running.exit(1);
    }
    logger('info', 'Stopped');
    return running.exit(exitCode);
  };

  return {
    isStopping: () => isStopping,
    receive(signal) {
      if (signal === justReceived) return;
      justReceived = signal;
      setTimeout(() => (justReceived = undefined), ONE_SIGNAL_MS);
      signals += 1;
      if (signals > 1) return endNow(1, 'Ended by a second signal', { signal });
      logger('info', 'Stopping', { signal });
      // The stop of a lost store may have begun.
      if (!isStopping) void stop(0);
    },
    stop,
  };
}
