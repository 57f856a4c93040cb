/**
 * Errors in options. One check finds them, for a program that embeds the service and for a user
 * who typed flags and variables: `{ option: 'prefix', sentence: 'must be …' }`. The
 * reporter of an error puts in the names that are known there, such as PETSTORE_PREFIX.
 *
 * Errors are returned, since all are reported together. A function of the package throws one
 * TypeError with all of them; the process prints each on a line, and exits with 2.
 */

import { sep } from 'node:path';
import { quoteValue } from './quote.ts';

export interface OptionError {
  /** The option: `prefix`, `memory.dataFile`, `apiKeys[2]`. */
  readonly option: string;
  /** What follows its name: "must be …, not …". */
  readonly sentence: string;
  /** Another option, with which the sentence ends. */
  readonly other?: string;
}

/** Returns the error of a value that is not as expected. The text shows no password of a URL. */
export function mustBe(option: string, expected: string, value: unknown): OptionError {
  const shown = typeof value === 'string' ? value.replace(/^([a-z]+:\/\/)?[^]*@/i, '$1…@') : value;
  const not = value === undefined ? '' : `, not ${quoteValue(shown)}`;
  return { option, sentence: `must be ${expected}${not}` };
}

/** A text with the quotes that a shell would have removed. */
export const IN_QUOTES: RegExp = /^(["'`])[^]*\1$/;

/** Returns what is wrong with the value of an option. */
export type Check = (value: unknown, option: string) => readonly OptionError[];

export function condition(expected: string, isValid: (value: unknown) => boolean): Check {
  return (value, option) => (isValid(value) ? [] : [mustBe(option, expected, value)]);
}

export const aFunction: Check = condition('a function', (value) => typeof value === 'function');

/**
 * Returns what a text must be that only looks like a value, or undefined for any other text. For
 * example, docker leaves the quotes of `PETSTORE_DATA_FILE="/data/pets.json"` in an env file, and a
 * service on that path would be ready, with a new store beside the volume.
 */
export function disguiseOf(text: string): string | undefined {
  return DISGUISES.find(([pattern]) => pattern.test(text))?.[1];
}

const DISGUISES: readonly (readonly [pattern: RegExp, expected: string])[] = [
  [IN_QUOTES, 'without quotes around it'],
  [/^\s|\s$/, 'without whitespace at its ends'],
  [/\p{Cc}/u, 'without control characters'],
  [/^[~$]/, 'without ~ or $ at its beginning, which only a shell replaces (./~ is a name)'],
  ...(sep === '/' ? [[/^[A-Za-z]:\\/, 'a path of this system, without a drive'] as const] : []),
];

/**
 * Returns the check of a free text, such as a path, which also refuses what only looks like one.
 */
export function aText(expected: string, isValid: (value: unknown) => boolean): Check {
  return (value, option) => {
    const disguise = typeof value === 'string' ? disguiseOf(value) : undefined;
    if (disguise !== undefined) return [mustBe(option, disguise, value)];
    return condition(expected, isValid)(value, option);
  };
}

/** Returns the check of a string that matches. */
export function matching(expected: string, pattern: RegExp): Check {
  return aText(expected, (value) => typeof value === 'string' && pattern.test(value));
}

/** Checks each member that is given or required, and refuses those that have no check. */
export function memberErrors(
  value: Readonly<Record<string, unknown>>,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[],
  path = '',
): readonly OptionError[] {
  const names = Object.keys(checks);
  const unknown = Object.keys(value).filter((name) => !names.includes(name));
  const given = names.filter((name) => value[name] !== undefined || required.includes(name));
  return [
    ...unknown.map((name) => ({
      option: `${path}${name}`,
      sentence: `is not an option; the options are ${names.join(', ')}`,
    })),
    ...given.flatMap((name) => checks[name]!(value[name], `${path}${name}`)),
  ];
}

/** Returns each error as a sentence, at most twenty of them, and how many more there are. */
export function errorTexts(
  errors: readonly OptionError[],
  nameOf: (option: string) => string = (option) => option,
): readonly string[] {
  const texts = errors.map(({ option, sentence, other }) => {
    const text = `${nameOf(option)} ${sentence}`;
    return other === undefined ? text : `${text} ${nameOf(other)}`;
  });
  const more = texts.length - MAX_TEXTS;
  return more > 0 ? [...texts.slice(0, MAX_TEXTS), `${more} more are wrong`] : texts;
}

const MAX_TEXTS = 20;

/** Throws a TypeError that has all errors, if there are any. */
export function assertNoErrors(errors: readonly OptionError[]): void {
  if (errors.length > 0) throw new TypeError(errorTexts(errors).join('; '));
}
