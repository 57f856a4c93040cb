/**
 * The commands of the program beside serving: `petstore NAME`, or `node dist/server.js NAME`. Each
 * is a module of this folder that reads process.argv and does its work when it is loaded.
 */

interface Command {
  /** What may follow it. */
  readonly args: string;
  readonly help: string;
  load(): Promise<unknown>;
}

export type CommandName = 'make-key' | 'check-data' | 'copy-pets' | 'init-etcd' | 'conformance';

export const COMMANDS: Readonly<Record<CommandName, Command>> = {
  'make-key': {
    args: '[name]',
    help: 'print a new API key, and its line for the keys file',
    load: () => import('./make-key.ts'),
  },
  'check-data': {
    args: '[file]',
    help: 'check a data file and its journal, and change nothing',
    load: () => import('./check-data.ts'),
  },
  'copy-pets': {
    args: '--help',
    help: 'copy pets between a data file and an etcd cluster',
    load: () => import('./copy-pets.ts'),
  },
  'init-etcd': {
    args: '[--etcd URLS]',
    help: 'make a new log in an etcd cluster, for a first start',
    load: () => import('./init-etcd.ts'),
  },
  conformance: {
    args: '<address>',
    help: 'check a service against the interface',
    load: () => import('./conformance.ts'),
  },
};

/** Runs the command that the arguments name. Returns undefined if they name none. */
export function runCommand(args: readonly string[]): Promise<unknown> | undefined {
  const [name = '', ...rest] = args;
  if (!Object.hasOwn(COMMANDS, name)) return undefined;
  // A command reads its own arguments, as if it were started by itself.
  process.argv.splice(2, Infinity, ...rest);
  return COMMANDS[name as CommandName].load();
}

/** The arguments that `help` stands for: those that show the help of a command, or of all. */
export function expandHelp(args: readonly string[]): readonly string[] {
  const [first, command = ''] = args;
  if (first !== 'help') return args;
  return Object.hasOwn(COMMANDS, command) ? [command, '--help'] : ['--help'];
}
