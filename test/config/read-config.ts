/** Reads a configuration, for tests. */

import { resolve } from 'node:path';
import { COMMANDS } from '../../src/commands/commands.ts';
import { readConfig, type Config, type ConfigResult } from '../../src/config.ts';

export type Env = Readonly<Record<string, string>>;

const OPTIONS = {
  prefix: '',
  bodyLimitBytes: 65_536,
  accessLog: false,
  corsOrigins: [],
  page: true,
};

/** The configuration without variables and flags, except where the pets are. */
export const WITHOUT_BACKEND: Config = {
  port: 8080,
  host: '127.0.0.1',
  apiKeySource: { list: undefined, file: undefined },
  ...OPTIONS,
};

export const DEFAULTS: Config = { ...WITHOUT_BACKEND, dataFile: resolve('data/pets.json') };

/** Reads a configuration on a disk that has only the given files. */
export function read(env: Env, args: readonly string[], files: Env = {}): Promise<ConfigResult> {
  const readTextFile = async (path: string): Promise<string> => {
    const text = files[path];
    if (text !== undefined) return text;
    throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  };
  return readConfig(env, args, readTextFile, Object.keys(COMMANDS));
}
