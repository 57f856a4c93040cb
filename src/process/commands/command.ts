/**
 * A command is a function of its command line and its environment, and writes where it is given to:
 * it reads no global. First it reads what it is given, and adds all that is wrong with it to the
 * mistakes; if there are none, what it returns does the work. The work throws what stops it.
 */

import type { CommandLine, Syntax } from '../../base/command-line.ts';
import type { Environment } from '../config.ts';

export interface Context {
  readonly env: Environment;
  /** Writes lines to standard output. */
  print(text: string): void;
  /** Shows a text on a terminal until the next output, for work that takes long. */
  showProgress(text: string): void;
}

export interface Command extends Syntax {
  /** What `--help` prints, with its end of line. */
  readonly usage: string;
  /** What `--version` prints, if it is a flag of the command. */
  readonly version?: string;
  /** Returns the work. It resolves with the exit code, if that is not 0. */
  read(line: CommandLine, context: Context): Work | Promise<Work>;
}

export type Work = () => Promise<number | void>;
