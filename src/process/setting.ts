/**
 * Settings: what a user gives by a variable, or by a flag, which overrides it. For example:
 *
 *     const port: Setting<number> = { option: 'port', variable: 'PORT', flag: 'port', … };
 *     new GivenSettings([port], { PORT: '80' }, new Map()).read(port); // the number 80
 *
 * An empty text counts as not given, since compose files and shells leave out a value in this way.
 */

import { condition, type Check, type OptionError } from '../core/base/option-error.ts';
import type { Environment, FlagKind } from './command-line.ts';
import { nearest } from './nearest.ts';

export interface Setting<T> {
  /** The name of the option that it sets, which is reported under what the user typed. */
  readonly option: string;
  readonly variable: string;
  /** Without its dashes; '' if there is only the variable. */
  readonly flag: string;
  readonly parser: Parser<T>;
  readonly default: T;
  /** Its line in the help, without the default. */
  readonly help: string;
}

/** What texts mean. */
export interface Parser<T> {
  /** What follows the flag in the help. */
  readonly placeholder: string;
  readonly flagKind: FlagKind;
  /** Returns undefined for a text that means nothing. */
  parse(text: string): T | undefined;
  /**
   * Judges the value, or a text that means nothing. Without it, the check of the option does, to
   * which both are given.
   */
  readonly check?: Check | undefined;
}

/** Any text, such as a path. */
export function text(placeholder: string, check?: Check): Parser<string> {
  return { placeholder, flagKind: 'text', parse: (text) => text, check };
}

export function wholeNumber(check?: Check): Parser<number> {
  const parse = (text: string): number | undefined =>
    /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
  return { placeholder: '<number>', flagKind: 'text', parse, check };
}

/** Several texts, separated by commas. */
export const urls: Parser<readonly string[]> = {
  placeholder: '<url,url>',
  flagKind: 'text',
  parse: (text) => text.split(',').map((part) => part.trim()),
};

export const onOrOff: Parser<boolean> = {
  placeholder: '[on|off]',
  flagKind: 'switch',
  parse: (text) => (text === 'on' ? true : text === 'off' ? false : undefined),
  check: condition('on or off', (value) => typeof value === 'boolean'),
};

/** A setting that the user has given. */
export interface GivenText {
  /** The flag or the variable. */
  readonly name: string;
  readonly text: string;
}

/** The settings that a user has given, and what is wrong with them. */
export class GivenSettings {
  readonly errors: OptionError[] = [];
  /** By option: what was given and means nothing. The checks of the options are to judge it. */
  readonly unfit: Record<string, unknown> = {};
  readonly #settings: readonly Setting<unknown>[];
  readonly #env: Environment;
  readonly #flags: ReadonlyMap<string, string>;

  constructor(
    settings: readonly Setting<unknown>[],
    env: Environment,
    flags: ReadonlyMap<string, string>,
  ) {
    this.#settings = settings;
    this.#env = env;
    this.#flags = flags;
  }

  /** Returns the value of a setting, or its default if it is not given, or wrong. */
  read<T>(setting: Setting<T>): T {
    return this.given(setting) ?? setting.default;
  }

  /** Returns the value of a setting, or undefined if it is not given, or wrong. */
  given<T>(setting: Setting<T>): T | undefined {
    const { option, parser } = setting;
    const text = this.textOf(setting)?.text;
    if (text === undefined) return undefined;
    const value = parser.parse(text);
    if (parser.check !== undefined) this.errors.push(...parser.check(value ?? text, option));
    else if (value === undefined) this.unfit[option] = text;
    return value;
  }

  textOf({ variable, flag }: Setting<unknown>): GivenText | undefined {
    const flagText = this.#flags.get(flag);
    if (flagText) return { name: `--${flag}`, text: flagText };
    const text = this.#env[variable];
    return text ? { name: variable, text } : undefined;
  }

  /**
   * Returns the name of a setting that the user typed, or both if it is not given. An option such
   * as `corsOrigins[1]` is a part of a setting; `etcd` has several, and the name of the first.
   */
  readonly nameOf = (option: string): string => {
    const plain = option.replace(/^memory\.|\[[0-9]+\]$/g, '');
    const setting = this.#settings.find((one) => `${one.option}.`.startsWith(`${plain}.`))!;
    const { variable, flag } = setting;
    return this.textOf(setting)?.name ?? (flag === '' ? variable : `${variable} or --${flag}`);
  };

  /**
   * Returns what is wrong with the names of variables that begin with `start`. Without this check,
   * a misspelt variable would silently mean the default.
   */
  unknownVariables(start: string): readonly string[] {
    const variables = this.#settings.map(({ variable }) => variable);
    const withPrefix = variables.map((name) => name.replace(/^(?!PETSTORE_)/, 'PETSTORE_'));
    return Object.keys(this.#env)
      .sort()
      .filter((name) => name.startsWith(start) && !variables.includes(name))
      .filter((name) => !isOfKubernetes(name, this.#env))
      .map((name) => {
        // A word is left out more often than it is replaced: KEYS_FILE means API_KEYS_FILE.
        const words = `_${name.slice(start.length)}`;
        const longer = withPrefix.filter((one) => one.includes(words));
        const best = nearest(name, longer.length > 0 ? longer : withPrefix);
        const meant = variables[withPrefix.indexOf(best)];
        return `Unknown variable ${name}: did you mean ${meant}?`;
      });
  }
}

/**
 * True for the variables that Kubernetes sets for a Service named `petstore`, `petstore-etcd` or
 * alike. It sets PETSTORE_PORT to a URL (tcp://…): a number comes from a user, who means PORT.
 */
function isOfKubernetes(name: string, env: Environment): boolean {
  if (/^PETSTORE_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)(?:_|$)|PORT_)/.test(name)) return true;
  return /^PETSTORE_(?:\w+_)?PORT$/.test(name) && !/^[0-9]+$/.test(env[name] ?? '');
}
