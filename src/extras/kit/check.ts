/**
 * A check: a sentence about a pet store service, and functions that test if it is true.
 *
 * The id is stable: lists of expected failures and old reports name checks by it. A sentence of the
 * level `interface` stands on a clause of SPEC.md, or on what every client relies on. At the other
 * two levels it is a decision of this project on a gap of SPEC.md. A service that decides otherwise
 * may be as valid.
 */

import { stringifyExactJson } from '../../core/base/exact-json.ts';
import { cut } from '../../core/base/quote.ts';
import { VERSION } from '../../core/base/version.ts';
import type { TestClient } from './test-client.ts';

/** The versions of the kit and of the interface (S9.2). */
export const VERSIONS: string = `${VERSION}, interface 1.0.0`;

/** Each level includes those before it. `decisions` is about pets, `http` about HTTP itself. */
export const LEVELS = ['interface', 'decisions', 'http'] as const;

export type Level = (typeof LEVELS)[number];

export interface Check {
  /** Begins with the section of SPEC.md, or with the level: `4.1/limit-maximum`. */
  readonly id: string;
  readonly level: Level;
  readonly sentence: string;
  /** The id and the sentence. */
  readonly title: string;
  /** What it stands on: `S4.1.2`, `what every client relies on`, or `''` for a decision. */
  readonly clauses: string;
  /** All are run, each with its own client, so that one that fails does not hide the next. */
  readonly cases: readonly Case[];
}

export interface Case {
  /** The name of the case; empty for a check without cases. */
  readonly about: string;
  /** Rejects if the sentence is not true, and with NotObserved if that cannot be seen. */
  run(client: TestClient): Promise<unknown>;
}

/**
 * Returns the checks of a level by their titles, without the level, and for `interface` with the
 * clauses: `4.1/limit (S4.1.2) limit is the maximum number of animals to return`.
 */
export function declare(
  level: Level,
  checks: Readonly<Record<string, Case['run'] | readonly Case[]>>,
): readonly Check[] {
  return Object.entries(checks).map(([text, run]) => {
    const whole = level === 'interface' ? text : `${level}/${text}`;
    const [, id = '', named = '', sentence = ''] = TITLE.exec(whole) ?? [];
    const clauses = named.replace(/^relied on$/, 'what every client relies on');
    const cases = typeof run === 'function' ? [{ about: '', run }] : run;
    return { id, level, title: `${id} ${sentence}`, clauses, sentence, cases };
  });
}

/** The id, the clauses, and the sentence. */
const TITLE = /^(\S+) (?:\((.+?)\) )?(.+)$/;

/** The service gave no occasion to test the sentence: the check neither holds nor fails. */
export class NotObserved extends Error {
  override readonly name: string = 'NotObserved';
}

/** Returns a case for each item. */
export function each<T>(
  items: readonly T[],
  run: (client: TestClient, item: T) => Promise<unknown>,
): readonly Case[] {
  return items.map((item) => ({ about: nameOf(item), run: (client) => run(client, item) }));
}

/** A case that is an array is named after its first element. */
function nameOf(item: unknown): string {
  const name: unknown = Array.isArray(item) ? item[0] : item;
  const text = typeof name === 'object' ? stringifyExactJson(name) : String(name ?? '');
  return text === '' ? 'none' : cut(text.replaceAll('\n', ' '), LONGEST_NAME);
}

const LONGEST_NAME = 50;
