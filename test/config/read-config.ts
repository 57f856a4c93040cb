/** Reads a configuration, for tests. */

import { resolve } from 'node:path';
import { readCommandLine } from '../../src/base/command-line.ts';
import { COMMANDS } from '../../src/process/commands.ts';
import { readConfig, SERVICE_FLAGS, type Config } from '../../src/process/config.ts';

export type Env = Readonly<Record<string, string>>;

/** The options of a configuration without variables and flags, except where the pets are. */
export const WITHOUT_BACKEND: object = { page: true };

export const DEFAULTS: object = { ...WITHOUT_BACKEND, dataFile: resolve('data/pets.json') };

export interface Read {
  readonly config: Config;
  /** The options that are given, without the API keys. */
  readonly options: object;
  readonly apiKeys: readonly unknown[];
  readonly mistakes: readonly string[];
}

/** Reads a configuration on a disk that has only the given files. */
export async function read(env: Env, args: readonly string[], files: Env = {}): Promise<Read> {
  const readTextFile = async (path: string): Promise<string> => {
    const text = files[path];
    if (text !== undefined) return text;
    throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  };
  const syntax = { flags: SERVICE_FLAGS, words: Object.keys(COMMANDS) };
  const line = readCommandLine(args, syntax);
  const config = await readConfig(line, env, readTextFile);
  const { apiKeys, ...options } = config.options;
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { config, options: Object.fromEntries(given), apiKeys, mistakes: line.mistakes };
}

/** Resolves with all that is wrong. */
export async function mistakesIn(...given: Parameters<typeof read>): Promise<readonly string[]> {
  return (await read(...given)).mistakes;
}
