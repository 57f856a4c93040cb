/** Reads a configuration, for tests. */

import { readCommandLine } from '../../src/base/command-line.ts';
import { readConfig, SERVICE_FLAGS } from '../../src/process/config.ts';

export type Env = Readonly<Record<string, string>>;

/**
 * Reads a configuration on a disk that has only the given files. `options` are those that are
 * given, without the API keys.
 */
export async function read(env: Env, args: readonly string[], files: Env = {}) {
  const line = readCommandLine(args, { flags: SERVICE_FLAGS });
  const config = await readConfig(line, env, async (path) => {
    const text = files[path];
    if (text !== undefined) return text;
    throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  });
  const { apiKeys, ...options } = config.options;
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { config, options: Object.fromEntries(given), apiKeys, mistakes: line.mistakes };
}

/** Resolves with all that is wrong. */
export async function mistakesIn(...given: Parameters<typeof read>): Promise<readonly string[]> {
  return (await read(...given)).mistakes;
}
