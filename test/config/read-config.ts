/** Reads a configuration, for tests. */

import { COMMANDS } from '../../src/commands/commands.ts';
import { readConfig, type Config, type ConfigResult } from '../../src/config.ts';

export type Env = Readonly<Record<string, string>>;

export const DEFAULTS: Config = {
  port: 8080,
  host: '127.0.0.1',
  dataFile: 'data/pets.json',
  memory: false,
  etcd: undefined,
  prefix: '',
  apiKeySource: { fixed: [], file: undefined },
  bodyLimitBytes: 65_536,
  accessLog: false,
  corsOrigins: [],
  page: true,
};

/** Reads a configuration on a disk that has only the given files. */
export function read(env: Env, args: readonly string[], files: Env = {}): Promise<ConfigResult> {
  const readTextFile = async (path: string): Promise<string> => {
    const text = files[path];
    if (text !== undefined) return text;
    throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  };
  return readConfig(env, args, readTextFile, Object.keys(COMMANDS));
}
