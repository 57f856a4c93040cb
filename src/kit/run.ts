/**
 * A run: checks against one service, one after the other, and what came of each.
 *
 * A check holds, fails, or is not observed because the service gave no occasion to test it. If the
 * service no longer responds, the run ends: the remaining checks are not run.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/log.ts';
import { cut } from '../base/quote.ts';
import { NotObserved, type Check, type Level } from './check.ts';
import { plainText } from './shown.ts';
import { NoResponse, TestClient, type Exchange, type Target } from './test-client.ts';

export interface ConformanceOptions extends Target {
  /** `interface` by default; each level includes those before it. */
  readonly level?: Level | undefined;
  /** Ids of checks, or their parts before the slash. All checks by default. */
  readonly only?: readonly string[] | undefined;
  /** Ids of checks that are known to fail. If one of them holds, the run fails. */
  readonly expectedFailures?: readonly string[] | undefined;
  /** If true, a difference from a decision fails the run, too. */
  readonly isStrict?: boolean | undefined;
}

/** What becomes of checks. Only `fail` fails the run. */
export type Kind = (typeof MAIN_KINDS | typeof RARE_KINDS)[number];

export const MAIN_KINDS = ['hold', 'fail', 'not observed'] as const;
export const RARE_KINDS = ['differ', 'expected to fail', 'not run'] as const;

export interface Outcome {
  readonly check: Check;
  readonly kind: Kind;
  /** Why the check does not hold: each expectation that was not met, or why it was not tested. */
  readonly causes: readonly Cause[];
  readonly seconds: number;
}

export interface Cause {
  readonly text: string;
  /** The names of the cases that it is the cause of. */
  readonly cases: readonly string[];
  /** That of the first case. */
  readonly exchange?: Exchange | undefined;
}

const LONGEST_TEXT = 600;

export class Run {
  /** True if the service no longer responds. */
  isGone = false;
  readonly #options: ConformanceOptions;

  constructor(options: ConformanceOptions) {
    this.#options = options;
  }

  async outcomeOf(check: Check): Promise<Outcome> {
    const startedAt = performance.now();
    const end = (kind: Kind, causes: readonly Cause[]): Outcome => {
      return { check, kind, causes, seconds: (performance.now() - startedAt) / 1000 };
    };
    if (this.isGone) return end('not run', [{ text: 'the service no longer responds', cases: [] }]);
    const { expectedFailures = [], isStrict = false, key } = this.#options;
    /** By their texts, since cases with the same expectation have the same cause. */
    const causes = new Map<string, Cause>();
    const unobserved: Cause[] = [];
    for (const { about, run } of check.cases) {
      const client = new TestClient(this.#options);
      try {
        await run(client);
      } catch (error) {
        if (error instanceof NotObserved) {
          unobserved.push({ text: error.message, cases: [] });
          continue;
        }
        const [message = ''] = messageOf(error).split('\n');
        const text = plainText(cut(message, LONGEST_TEXT), key);
        const { cases, exchange } = causes.get(text) ?? {
          cases: [],
          exchange: client.lastExchange,
        };
        causes.set(text, { text, cases: [...cases, plainText(about, key)], exchange });
        if (!(error instanceof NoResponse)) continue;
        this.isGone = await awaitService(this.#options).then(
          () => false,
          () => true,
        );
        break;
      }
    }
    const isExpected = expectedFailures.includes(check.id);
    if (causes.size > 0) {
      const isFailure = check.level === 'interface' || isStrict || this.isGone;
      const kind = isExpected && !this.isGone ? 'expected to fail' : isFailure ? 'fail' : 'differ';
      return end(kind, [...causes.values()]);
    }
    if (unobserved.length === check.cases.length) return end('not observed', [unobserved[0]!]);
    if (!isExpected) return end('hold', []);
    return end('fail', [
      { text: `${check.id} holds: remove it from the expected failures`, cases: [] },
    ]);
  }
}

const PAUSE_MS = 200;
const NOWHERE = /^(3..|404|405)$/;

/** Waits for a service that is starting. Rejects with why no check can be run. */
export async function awaitService(target: Target, waitMs = 0): Promise<void> {
  const client = new TestClient(target);
  for (const endsAt = Date.now() + waitMs; ; await sleep(PAUSE_MS)) {
    const response = await client.get('/pets?limit=1').catch((error: Error) => error);
    const { status = 503 } = response as { status?: number };
    const returned = `GET /pets returned ${status}`;
    let why = response instanceof Error ? `gave ${response.message}` : `is not ready: ${returned}`;
    if (status === 401) why = `does not accept the key: ${returned}`;
    else if (status < 502 || status > 504) {
      // A service that returns 404 for an empty list must be checked: a check reports that.
      if (!NOWHERE.test(`${status}`)) return;
      if (!NOWHERE.test(`${(await client.post({})).status}`)) return;
      why = `is not a pet store service: ${returned}`;
    } else if (Date.now() + PAUSE_MS < endsAt) continue;
    throw new Error(`${target.baseUrl} ${why}`);
  }
}
