/**
 * The commands of the program, `petstore NAME`, beside the service itself, which is what runs
 * without a name. The command of the kit loads its module when it is named.
 *
 * What is wrong with a command line is printed, each mistake on a line, with exit code 2. An error
 * that a command throws is printed, with exit code 1 unless the command has another.
 */

import crypto from 'node:crypto';
import { createApiKey, keyNameMistake } from '../core/app/api-keys.ts';
import { messageOf } from '../core/base/logger.ts';
import { counted } from '../core/base/quote.ts';
import {
  assertWhole,
  backUp,
  checkDataFile,
  loadDataFile,
  loadProvenCommits,
  makeDataFile,
} from '../core/store/copies.ts';
import type { Tables } from '../core/store/tables.ts';
import { readCommandLine, readDataFilePath, type Command, type Context } from './command-line.ts';
import { dataFileOf, PROCESS_SETTINGS } from './config.ts';
import { copyPets, initEtcd } from './etcd.ts';
import { diskWithProgress } from './progress.ts';
import { READ_METRICS } from './read-api-keys.ts';
import type { Setting } from './setting.ts';

type Row = readonly [args: string, help: string, load: () => Command | Promise<Command>];

/** What may follow the name of each command, its line in the help, and how to load it. */
export const COMMANDS: Readonly<Record<string, Row>> = {
  'make-key': [
    '[name] [read-metrics]',
    'print a new API key, and its line for the API keys file',
    () => makeKey,
  ],
  'check-data': ['[file]', 'check a data file, and change nothing', () => checkData],
  backup: ['FILE', 'copy the data file, also beside a running service', () => backup],
  import: [
    'FROM',
    'make a data file of any JSON array of pets, or of a damaged one',
    () => importPets,
  ],
  'copy-pets': ['<options>', 'copy pets between a data file and an etcd cluster', () => copyPets],
  'init-etcd': [
    '[--etcd URLS]',
    'make a new log in an etcd cluster, before the first start',
    () => initEtcd,
  ],
  conformance: [
    'URL --key KEY',
    'check a service against the API specification',
    async () => (await import('./kit.ts')).conformance,
  ],
  help: ['[command]', 'show this help, or that of a command', () => showHelp],
};

/** Loads the command of this name. Resolves with undefined if there is none. */
async function loadCommand(name = ''): Promise<Command | undefined> {
  const [, , load] = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : [];
  return load?.();
}

const COMMAND_COLUMN = 32;
const COLUMNS = [26, 30] as const;

export const HELP: string = `Usage: petstore [options]    serves pets over HTTP, from a JSON file or an etcd cluster
       petstore <command>    runs one of the commands below

From a build: node dist/server.js [options] or <command>. If no API key is configured, a random one
is generated and printed once at start.

Commands:
${Object.entries(COMMANDS)
  .map(([name, [args, help]]) => `  ${`${name} ${args}`.padEnd(COMMAND_COLUMN)}${help}\n`)
  .join('')}
Options, and the environment variables that they override:
${PROCESS_SETTINGS.map(lineOf).join('')}  -h, --help                show this help and exit
  --version                 show the version and exit
`;

function lineOf({ variable, flag, parser, default: value, help }: Setting<unknown>): string {
  const first = flag === '' ? '' : `--${flag} ${parser.placeholder}`;
  const named = `  ${first.padEnd(COLUMNS[0])}${variable.padEnd(COLUMNS[1])}`;
  return `${named}${help}${value === undefined ? '' : ` (${shownDefault(value)})`}\n`;
}

function shownDefault(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return String(value) || 'none';
}

/** Prints a new API key for the client, and the line with its digest for the API keys file. */
const makeKey: Command = {
  usage: `Usage: petstore make-key [NAME] [read-metrics]

Prints a new API key for the client, and its line for the API keys file. With read-metrics, the key
opens only the metrics.
`,
  operands: 2,
  read({ operands, mistakes }, { print }) {
    const right = operands.at(-1) === READ_METRICS ? ` ${READ_METRICS}` : '';
    const [name, more] = right === '' ? operands : operands.slice(0, -1);
    const mistake = name === undefined ? undefined : keyNameMistake(name);
    if (mistake !== undefined) mistakes.push(`NAME ${mistake}`);
    if (more !== undefined) mistakes.push(`What follows NAME must be ${READ_METRICS}`);
    return async () => {
      const key = createApiKey();
      const digest = crypto.hash('sha256', key, 'hex');
      print(`# The API key, for the client:\n${key}`);
      print('# Its line, for the API keys file:');
      print(`${name === undefined ? '' : `${name}: `}sha256:${digest}${right}`);
    };
  },
};

/** Prints what a start would find in a data file, or the first thing that is wrong, and where. */
const checkData: Command = {
  usage: `Usage: petstore check-data [FILE]

Checks a data file, and changes nothing, whether or not a service uses it. Without FILE it checks
PETSTORE_DATA_FILE, or data/pets.json. Exit code 1: damaged, missing, or, unless a service uses it,
not complete.
`,
  operands: 1,
  read(line, { env, print, showProgress }) {
    const [named] = line.operands;
    const path =
      named === undefined ? dataFileOf(line, env) : readDataFilePath(line, named, 'FILE');
    return async () => {
      const content = await checkDataFile(diskWithProgress(showProgress), path);
      if (!content.isInUse) assertWhole(path, content);
      printPets(print, path, content);
      if (content.keys.length > 0) print(counted(content.keys.length, 'idempotency key'));
      if (content.isInUse) print('A service uses the file, and may be writing a commit');
      if (content.form === 'array') {
        print('It has no marks: a changed letter would not be noticed. A start adds them');
        return 0;
      }
      if (content.pets.length > 0) print(`The last commit begins at byte ${content.lastCommitAt}`);
      return 0;
    };
  },
};

/** Copies the whole commits of the data file. */
const backup: Command = {
  usage: `Usage: petstore backup FILE [--data-file PATH] [--replace]

Copies the data file into FILE, whether or not a service uses it, and makes the copy durable. The
data file is that of PATH, of PETSTORE_DATA_FILE, or data/pets.json. FILE must not exist, unless
--replace is given: then the copy replaces it when it is complete.
`,
  operands: 1,
  flags: { 'data-file': 'text', replace: 'plain' },
  read(line, { env, print, showProgress }) {
    const to = readDataFilePath(line, line.operands[0], 'FILE');
    const named = line.flags.get('data-file');
    const from = named ? readDataFilePath(line, named, '--data-file') : dataFileOf(line, env);
    return async () => {
      const disk = diskWithProgress(showProgress);
      const tables = await backUp(disk, from, to, line.flags.has('replace'));
      printPets(print, to, tables);
    };
  },
};

/** Makes a data file of the pets in another file. */
const importPets: Command = {
  usage: `Usage: petstore import FROM [--data-file PATH] [--intact]

Makes a data file of FROM, any JSON array of pets. Either all pets have ascending ids, or none has
an id: then they get 1, 2, 3 and so on. The data file is that of PATH, of PETSTORE_DATA_FILE, or
data/pets.json, and must not exist.
--intact  takes out of a damaged data file the pets of each commit that its marks prove.
`,
  operands: 1,
  flags: { 'data-file': 'text', intact: 'plain' },
  read(line, { env, print, printError, showProgress }) {
    const from = readDataFilePath(line, line.operands[0], 'FROM');
    const named = line.flags.get('data-file');
    const to = named ? readDataFilePath(line, named, '--data-file') : dataFileOf(line, env);
    const isIntact = line.flags.has('intact');
    return async () => {
      const disk = diskWithProgress(showProgress);
      const tables = isIntact
        ? await loadProvenCommits(disk, from, (start, end) => {
            printError(`bytes ${start} to ${end} of ${from} are left out: no mark proves them`);
          })
        : await loadDataFile(disk, from, true);
      if (isIntact && tables.pets.length === 0) throw new Error(`${from} ${NOTHING_INTACT}`);
      await makeDataFile(disk, to, tables);
      printPets(print, to, tables);
    };
  },
};

const NOTHING_INTACT =
  'has no whole commit, so no data file was made. If it is still JSON, remove the 32 blanks behind ' +
  'its opening bracket, and import it without --intact';

function printPets(print: (text: string) => void, path: string, { pets }: Tables): void {
  print(`${path}: ${counted(pets.length, 'pet')}, the greatest id is ${pets.lastId}`);
}

const showHelp: Command = {
  usage: HELP,
  operands: 1,
  async read({ operands: [name], mistakes }, { print }) {
    const command = name === undefined ? showHelp : await loadCommand(name);
    // The name is not quoted, like any other argument.
    if (command === undefined) mistakes.push('Argument 1 is not a command: see --help');
    return async () => print(command!.usage);
  },
};

/** Runs the command that the arguments name, or else the service. Resolves with the exit code. */
export async function runProgram(
  args: readonly string[],
  service: Command,
  context: Context,
): Promise<number> {
  const [name, ...rest] = args;
  const named = await loadCommand(name);
  const command = named ?? service;
  const { usage, version = '', errorCode = 1 } = command;
  try {
    const line = readCommandLine(named === undefined ? args : rest, command);
    const shown = line.flags.has('help') ? usage : line.flags.has('version') ? version : '';
    if (shown !== '') {
      context.print(shown);
      return 0;
    }
    const work = await command.read(line, context);
    for (const mistake of line.mistakes) context.printError(mistake);
    return line.mistakes.length > 0 ? 2 : ((await work()) ?? 0);
  } catch (error) {
    context.printError(messageOf(error));
    return errorCode;
  }
}
