/** The commands of the program beside serving, as `petstore --help` lists them. */

interface Command {
  /** What may follow it. */
  readonly args: string;
  readonly help: string;
}

export type CommandName = 'make-key' | 'check-data' | 'copy-pets' | 'conformance';

export const COMMANDS: Readonly<Record<CommandName, Command>> = {
  'make-key': { args: '[name]', help: 'print a new API key, and its line for the keys file' },
  'check-data': { args: '[file]', help: 'check a data file and its journal, and change nothing' },
  'copy-pets': { args: '--help', help: 'copy pets between a data file and an etcd cluster' },
  conformance: { args: '<address>', help: 'hold a service against the interface' },
};

/** The arguments that `help` stands for: those that show the help of a command, or of all. */
export function expandHelp(args: readonly string[]): readonly string[] {
  const [first, command = ''] = args;
  if (first !== 'help') return args;
  return command in COMMANDS ? [command, '--help'] : ['--help'];
}
