/**
 * A check: a sentence about a pet store service, and a function that tests if it is true.
 *
 * The id is stable: lists of expected failures and old reports name checks by it. A sentence of the
 * level `interface` is from the specification. At the other two levels it is a decision of this
 * project on what the specification leaves open. A service that decides otherwise may be as valid.
 */

import { stringifyExactJson } from '../base/exact-json.ts';
import { cut } from './shown.ts';
import { NoResponse, TestClient, type Exchange } from './test-client.ts';

/** The version of the specification (spec section 9). */
export const INTERFACE_VERSION = '1.0.0';

/** Each level includes those before it. `decisions` is about pets, `http` about HTTP itself. */
export const LEVELS = ['interface', 'decisions', 'http'] as const;

export type Level = (typeof LEVELS)[number];

export interface Check {
  /** Begins with the section of the specification, or with the level: `4.1/limit-maximum`. */
  readonly id: string;
  readonly level: Level;
  readonly sentence: string;
  run(client: TestClient): Promise<unknown>;
}

/** Declares checks by their titles: the id and the sentence. */
export type Declare = (runs: Readonly<Record<string, Check['run']>>) => readonly Check[];

function declareOf(level: Level, prefix: string): Declare {
  return (runs) =>
    Object.entries(runs).map(([title, run]) => {
      const [name = ''] = title.split(' ', 1);
      return { id: prefix + name, level, sentence: title.slice(name.length + 1), run };
    });
}

export const demand: Declare = declareOf('interface', '');
export const decision: Declare = declareOf('decisions', 'decisions/');
export const onHttp: Declare = declareOf('http', 'http/');

/** The service gave no occasion to test the sentence: the check neither holds nor fails. */
export class NotObserved extends Error {
  override readonly name: string = 'NotObserved';
}

/** What differed in one case. */
export interface Difference {
  /** The name of the case; empty for a check without cases. */
  readonly about: string;
  readonly error: unknown;
  readonly exchange: Exchange | undefined;
}

/** All differences of one check. */
export class Differences extends Error {
  override readonly name: string = 'Differences';
  readonly all: readonly Difference[];

  constructor(all: readonly Difference[]) {
    super(`${all.length} differences`);
    this.all = all;
  }
}

/**
 * Returns the function of a check with cases. It calls `run` for every case, so that a difference
 * in one case does not hide the next one: with a new client each, up to `atOnce` cases at the same
 * time. It stops if a request gets no response. Rejects with Differences, or with NotObserved if
 * all cases do.
 */
export function each<T>(
  cases: readonly T[],
  run: (own: TestClient, item: T) => Promise<unknown>,
  atOnce = 1,
): Check['run'] {
  return async ({ target }) => {
    const differences: Difference[] = [];
    const unobserved: NotObserved[] = [];
    const runOne = async (item: T): Promise<readonly Difference[]> => {
      const own = new TestClient(target);
      try {
        await run(own, item);
      } catch (error) {
        if (!(error instanceof NotObserved)) {
          return [{ about: nameOf(item), error, exchange: own.lastExchange }];
        }
        unobserved.push(error);
      }
      return [];
    };
    for (let start = 0; start < cases.length; start += atOnce) {
      const found = await Promise.all(cases.slice(start, start + atOnce).map(runOne));
      differences.push(...found.flat());
      if (differences.some(({ error }) => error instanceof NoResponse)) break;
    }
    if (differences.length > 0) throw new Differences(differences);
    if (unobserved.length === cases.length && unobserved[0] !== undefined) throw unobserved[0];
  };
}

/** A case that is an array is named after its first element. */
function nameOf(item: unknown): string {
  const name: unknown = Array.isArray(item) ? item[0] : item;
  const text = typeof name === 'object' ? stringifyExactJson(name) : String(name ?? '');
  return text === '' ? 'none' : cut(text.replaceAll('\n', ' '), LONGEST_NAME);
}

const LONGEST_NAME = 50;
