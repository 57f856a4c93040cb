/**
 * The flags of a command line, read by node:util's parseArgs, for the service and for each command.
 * All mistakes are found, not only the first. None of them quotes an argument that may be an API
 * key that was meant for a flag.
 */

import { parseArgs } from 'node:util';
import { edits, nearest } from './nearest.ts';

/**
 * A flag has a text (`--port 8080`), or several if it is repeated; is `on` or `off`, and on alone;
 * or has no value. Or it is an earlier spelling of the flag that is named: `--etcd-prefix`.
 */
export type FlagKind = 'text' | 'texts' | 'switch' | 'plain' | `--${string}`;

export interface Syntax {
  /** `--help` is added. */
  readonly flags?: Readonly<Record<string, FlagKind>>;
  /** How many arguments there may be that are not flags. */
  readonly operands?: number;
  /** If none: what a mistyped first argument may have meant. */
  readonly words?: readonly string[];
}

export interface CommandLine {
  /** The values of the flags that were given: '' for a plain one, a line for each of `texts`. */
  readonly flags: ReadonlyMap<string, string>;
  readonly operands: readonly string[];
  /** What is wrong. A command adds to it what is wrong with the values. */
  readonly mistakes: string[];
}

export function readCommandLine(args: readonly string[], syntax: Syntax): CommandLine {
  const kinds: Readonly<Record<string, FlagKind>> = { ...syntax.flags, help: 'plain' };
  const kindOf = (name: string): FlagKind | undefined =>
    Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  const known = Object.keys(kinds).filter((name) => !kinds[name]!.startsWith('--'));
  const options = Object.fromEntries(
    known.map((name) => {
      const type = kinds[name] === 'plain' ? ('boolean' as const) : ('string' as const);
      return [name, name === 'help' ? { type, short: 'h' } : { type }];
    }),
  );
  const withValues = args.map((arg, index) => {
    const isSwitch = arg.startsWith('--') && kindOf(arg.slice(2)) === 'switch';
    return isSwitch && !LIKE_ON_OR_OFF.test(args[index + 1] ?? '') ? `${arg}=on` : arg;
  });
  // Not strict, since strict parsing stops at the first mistake.
  const { tokens } = parseArgs({ args: withValues, options, strict: false, tokens: true });
  const line = { flags: new Map<string, string>(), operands: [] as string[] };
  const mistakes: string[] = [];
  let lastUnknown = -2;
  for (const token of tokens) {
    // The argument after an unknown flag may be its value.
    const isValue = token.index === lastUnknown + 1;
    if (token.kind === 'positional' && !isValue) {
      const hint = hintFor(token.value, syntax.words ?? [], '');
      if (line.operands.length < (syntax.operands ?? 0)) line.operands.push(token.value);
      else if (token.index > 0 || syntax.words === undefined)
        mistakes.push(`Unexpected argument ${token.index + 1}: see --help`);
      else mistakes.push(`Argument 1 is neither an option nor a command: ${hint}`);
    }
    if (token.kind !== 'option' || token.index === lastUnknown) continue;
    const { name, rawName, value } = token;
    const kind = kindOf(name);
    const earlier = line.flags.get(name);
    if (kind === undefined || kind.startsWith('--')) {
      // -kSECRET is a list of letters to parseArgs, each with the same position.
      const isShown = rawName.startsWith('--') && !isValue;
      const what = isShown ? rawName : `in argument ${token.index + 1}`;
      const hint = kind === undefined ? hintFor(name, isShown ? known : [], '--') : `write ${kind}`;
      lastUnknown = token.index;
      mistakes.push(`Unknown option ${what}: ${hint}`);
    } else if (kind === 'plain' && value !== undefined) {
      mistakes.push(`${rawName} takes no value`);
    } else if (kind !== 'plain' && (value === undefined || value === '')) {
      mistakes.push(`${rawName} needs a value`);
    } else if (earlier !== undefined && kind !== 'texts') {
      mistakes.push(`${rawName} is given twice`);
    } else {
      line.flags.set(name, earlier === undefined ? (value ?? '') : `${earlier}\n${value}`);
    }
  }
  return { ...line, mistakes };
}

/** What may follow a switch as its value, rather than be another argument. */
const LIKE_ON_OR_OFF = /^(?:on|off|true|false|yes|no|0|1)$/i;

/** Returns the name that was meant, if one differs in at most two letters, or else --help. */
function hintFor(text: string, names: readonly string[], dashes: string): string {
  const best = names.length === 0 ? '' : nearest(text.toLowerCase(), names);
  const isNear = best !== '' && edits(text.toLowerCase(), best) <= 2;
  return isNear ? `did you mean ${dashes}${best}?` : 'see --help';
}
