/** What `petstore --help` shows: the commands, and the settings of the process. */

import { flagOf, PROCESS_SETTINGS } from '../settings.ts';
import { COMMANDS } from './commands.ts';

const COLUMNS = [26, 30] as const;

export const HELP: string = `Usage: petstore [options]    serves pets over HTTP, from a JSON file or an etcd cluster
       petstore <command>    runs one of the commands below

From a build: node dist/server.js [options] or <command>. If no API key is configured, a random one
is generated and printed once at start.

Commands:
${Object.entries(COMMANDS)
  .map(([name, { args, help }]) => `  ${`${name} ${args}`.padEnd(COLUMNS[0])}${help}\n`)
  .join('')}  help [command]            show this help, or that of a command

Options, and the environment variables that they override:
${PROCESS_SETTINGS.map((setting) => {
  const { variable = '', placeholder, help = '' } = setting;
  const first = placeholder === undefined ? '' : `--${flagOf(setting)} ${placeholder}`;
  return `  ${first.padEnd(COLUMNS[0])}${variable.padEnd(COLUMNS[1])}${help}\n`;
}).join('')}  -h, --help                show this help and exit
  --version                 show the version and exit
`;
