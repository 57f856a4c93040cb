/**
 * Runs every case of a check, so that a difference in one case does not hide the next one.
 *
 * A case that cannot be tested throws NotObserved. If all cases do, the check is not observed.
 */

import { stringifyExactJson } from '../base/exact-json.ts';
import { NotObserved } from './check.ts';
import { cut } from './shown.ts';
import { NoResponse, TestClient, type Exchange } from './test-client.ts';

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
 * Calls `run` for every case, with a new client each, up to `atOnce` cases at the same time. Stops
 * if a request gets no response. Rejects with Differences, or with NotObserved if all cases do.
 */
export async function eachCase<T>(
  client: TestClient,
  cases: readonly T[],
  run: (own: TestClient, item: T) => Promise<unknown>,
  atOnce = 1,
): Promise<void> {
  const differences: Difference[] = [];
  const unobserved: NotObserved[] = [];
  const runOne = async (item: T): Promise<readonly Difference[]> => {
    const own = new TestClient(client.target);
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
}

/** A case that is an array is named after its first element. */
function nameOf(item: unknown): string {
  const name: unknown = Array.isArray(item) ? item[0] : item;
  const text = typeof name === 'object' ? stringifyExactJson(name) : String(name);
  return text === '' ? 'none' : cut(text.replaceAll('\n', ' '), LONGEST_NAME);
}

const LONGEST_NAME = 50;
