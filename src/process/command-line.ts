/**
 * Commands, and the flags of their command lines, for the service, too. All mistakes are found, not
 * only the first, so node:util's parseArgs is not enough. None of them quotes an argument that may
 * be an API key that was meant for a flag.
 */

import { aFile, pathOf } from '../app.ts';
import { errorTexts } from '../core/base/option-error.ts';
import { edits, nearest } from './nearest.ts';

/**
 * A flag has a text (`--port 8080`), or several if it is repeated; is `on` or `off`, and on alone;
 * or has no value.
 */
export type FlagKind = 'text' | 'texts' | 'switch' | 'plain';

export interface Syntax {
  /** `--help` is added. */
  readonly flags?: Readonly<Record<string, FlagKind>>;
  /** How many arguments there may be that are not flags. */
  readonly operands?: number;
  /** If none: what a mistyped first argument may have meant. */
  readonly words?: readonly string[];
}

export interface CommandLine {
  /**
   * The values of the flags that were given, a line for each of `texts`. It is '' for a plain flag,
   * and for one that lacks its value, which is among the mistakes.
   */
  readonly flags: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
  /** What is wrong. A command adds to it what is wrong with the values. */
  readonly mistakes: string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Context {
  readonly env: Environment;
  /** Writes lines to standard output. */
  print(text: string): void;
  /** Writes a line to standard error, after the name of the program. */
  printError(message: string): void;
  /** Shows a text on a terminal until the next output, for work that takes long. */
  showProgress(text: string): void;
}

/**
 * A command is a function of its command line and its environment, and writes where it is given to:
 * it reads no global. First it reads what it is given, and adds all that is wrong with it to the
 * mistakes; if there are none, what it returns does the work. The work throws what stops it.
 */
export interface Command extends Syntax {
  /** What `--help` prints, with its end of line. */
  readonly usage: string;
  /** What `--version` prints, if it is a flag of the command. */
  readonly version?: string;
  /** The exit code if the work throws: 1 by default. */
  readonly errorCode?: number;
  /** Returns the work. It resolves with the exit code, if that is not 0. */
  read(line: CommandLine, context: Context): Work | Promise<Work>;
}

type Work = () => Promise<number | void>;

export function readCommandLine(args: readonly string[], syntax: Syntax): CommandLine {
  const kinds = new Map<string, FlagKind>(Object.entries({ ...syntax.flags, help: 'plain' }));
  const flags = new Map<string, string>();
  const operands: string[] = [];
  const mistakes: string[] = [];
  let areFlagsOver = false;
  let lastUnknown = -2;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] === '-h' ? '--help' : args[at]!;
    // The argument after an unknown flag may be its value.
    const isValue = at === lastUnknown + 1;
    if (areFlagsOver || !/^-./.test(arg)) {
      if (isValue) continue;
      const hint = hintFor(arg, syntax.words ?? [], '');
      if (operands.length < (syntax.operands ?? 0)) operands.push(arg);
      else if (at > 0 || syntax.words === undefined)
        mistakes.push(`Unexpected argument ${at + 1}: see --help`);
      else mistakes.push(`Argument 1 is neither an option nor a command: ${hint}`);
      continue;
    }
    areFlagsOver = arg === '--';
    if (areFlagsOver) continue;
    const [, name = '', given] = /^--([^=]+)(?:=([^]*))?$/.exec(arg) ?? [];
    const kind = kinds.get(name);
    const next = args[at + 1];
    const hasNext = next !== undefined && !(next.startsWith('--') && kinds.has(next.slice(2)));
    const takesNext = hasNext && (kind === 'switch' ? LIKE_ON_OR_OFF.test(next) : kind !== 'plain');
    if (kind === undefined) {
      const isShown = (name !== '' && !isValue) || /^-[a-z]$/i.test(arg);
      const hint = hintFor(name, isShown ? [...kinds.keys()] : [], '--');
      const shown = isShown ? arg.replace(/=[^]*/, '') : `in argument ${at + 1}`;
      mistakes.push(`Unknown option ${shown}: ${hint}`);
      lastUnknown = at;
      continue;
    }
    if (takesNext && given === undefined) at += 1;
    const value = given ?? (takesNext ? next : kind === 'switch' ? 'on' : '');
    const earlier = flags.get(name);
    if (kind === 'plain' && given !== undefined) mistakes.push(`--${name} takes no value`);
    else if (kind !== 'plain' && !value) {
      mistakes.push(`--${name} needs a value`);
      flags.set(name, earlier ?? '');
    } else if (earlier === undefined) flags.set(name, value!);
    else if (kind === 'texts') flags.set(name, `${earlier}\n${value}`);
    else mistakes.push(`--${name} is given twice`);
  }
  return { flags, operands, mistakes };
}

/** What may follow a switch as its value, rather than be another argument. */
const LIKE_ON_OR_OFF = /^(?:on|off|true|false|yes|no|0|1)$/i;

/**
 * Returns the name that was meant, or else --help: one that differs in at most two letters, or that
 * has the text as one of its words, as `data-file` has `data`.
 */
function hintFor(text: string, names: readonly string[], dashes: string): string {
  const small = text.toLowerCase();
  const isPart = (name: string): boolean => small !== '' && `-${name}-`.includes(`-${small}-`);
  const best = names.find(isPart) ?? nearest(small, ['', ...names]);
  const isMeant = isPart(best) || (best !== '' && edits(small, best) <= 2);
  return isMeant ? `did you mean ${dashes}${best}?` : 'see --help';
}

/** Returns the path of a data file on the line. Adds what is wrong with it. */
export function readDataFilePath({ mistakes }: CommandLine, text: unknown, name: string): string {
  if (text === undefined) mistakes.push(`${name} is missing: see --help`);
  else mistakes.push(...errorTexts(aFile(text, name)));
  return pathOf(text) ?? '';
}
