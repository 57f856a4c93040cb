/**
 * The commands of the program, in addition to serving: `petstore NAME`, or `node dist/server.js
 * NAME`. Each is a module of this folder that reads process.argv and runs when it is loaded.
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
    help: 'print a new API key, and its line for the API keys file',
    load: () => import('./make-key.ts'),
  },
  'check-data': {
    args: '[file]',
    help: 'check a data file and its journal, and change nothing',
    load: () => import('./check-data.ts'),
  },
  'copy-pets': {
    args: '<options>',
    help: 'copy pets between a data file and an etcd cluster',
    load: () => import('./copy-pets.ts'),
  },
  'init-etcd': {
    args: '[--etcd URLS]',
    help: 'make a new log in an etcd cluster, before the first start',
    load: () => import('./init-etcd.ts'),
  },
  conformance: {
    args: 'URL --key KEY',
    help: 'check a service against the API specification',
    load: () => import('./conformance.ts'),
  },
};

/** Runs the command that the arguments name. Returns undefined if they name none. */
export function runCommand(args: readonly string[]): Promise<unknown> | undefined {
  const [name = '', ...rest] = args;
  if (!Object.hasOwn(COMMANDS, name)) return undefined;
  // The command reads its arguments as if it were a separate program.
  process.argv.splice(2, Infinity, ...rest);
  return COMMANDS[name as CommandName].load();
}

/** Replaces `help` and `help NAME` by the arguments that show that help. */
export function expandHelp(args: readonly string[]): readonly string[] {
  const [first, command = ''] = args;
  if (first !== 'help') return args;
  return Object.hasOwn(COMMANDS, command) ? [command, '--help'] : ['--help'];
}
