/**
 * SIGHUP: it means "read the API keys file again", or that the terminal of the process was closed.
 * Without a listener it would end the process, so it has one from the first moment on; a hang-up
 * that comes before there is an app waits for it.
 */

import { isatty } from 'node:tty';
import type { App } from '../app.ts';
import type { Logger } from '../core/base/logger.ts';
import { readApiKeys, readApiKeysFile, type ApiKeySource } from './read-api-keys.ts';

export interface HangUps {
  /** Handles a hang-up, or lets it wait for the app. */
  receive(): void;
  /** Handles all hang-ups, from an early one on: by reading the source again, or by a stop. */
  handle(app: App, source: ApiKeySource, stop: () => void): void;
  /** Returns how often a file with a mistake was read, so that the keys in force stayed. */
  failedReloads(): number;
}

export function createHangUps(logger: Logger): HangUps {
  // Any of them, since output is often redirected. Under nohup and systemd there is none.
  const terminals = [0, 1, 2].filter((stream) => isatty(stream));
  let failedReloads = 0;
  let isEarly = false;
  let onHangUp = (): void => {
    isEarly = true;
  };

  /** Puts the keys of the file in force, unless the file has a mistake. */
  const reload = async (app: App, source: ApiKeySource): Promise<void> => {
    const { apiKeys, mistakes } = await readApiKeys(source, readApiKeysFile);
    if (mistakes.length > 0) {
      failedReloads += 1;
      logger('error', 'Kept the API keys in force', { cause: mistakes.join('; ') });
    } else {
      app.setApiKeys(apiKeys);
      // The names show if it was the right file: a container may still have the one before.
      const names = apiKeys.flatMap((one) => (typeof one === 'string' ? [] : (one.name ?? [])));
      logger('info', 'Read the API keys again', { keys: apiKeys.length, names: names.join(' ') });
    }
  };

  return {
    receive: () => onHangUp(),
    handle(app, source, stop) {
      let reading: Promise<void> = Promise.resolve();
      onHangUp = () => {
        // After a hang-up, `isatty` returns false for the closed terminal.
        const isTerminalClosed =
          terminals.length > 0 && !terminals.some((stream) => isatty(stream));
        if (isTerminalClosed) stop();
        else if (source.file === undefined)
          logger('warn', 'There is no API keys file to read again');
        else reading = reading.then(() => reload(app, source));
      };
      if (isEarly) onHangUp();
    },
    failedReloads: () => failedReloads,
  };
}
