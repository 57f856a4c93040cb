/**
 * A run: checks against one service, one after the other, and what came of each.
 *
 * A check holds, fails, or is not observed because the service gave no occasion to test it. If the
 * service no longer responds, the run ends: the remaining checks are not run.
 */

import { AssertionError } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { cut } from '../base/quote.ts';
import { VERSION } from '../base/version.ts';
import { INTERFACE_VERSION, NotObserved, type Check } from './check.ts';
import { plainText } from './shown.ts';
import { NoResponse, TestClient, type Exchange, type Target } from './test-client.ts';

export interface RunOptions extends Target {
  /** Ids of checks that are known to fail. If one of them holds, the run fails. */
  readonly expectedFailures?: readonly string[] | undefined;
  /** If true, a difference from a decision fails the run, too. */
  readonly isStrict?: boolean | undefined;
}

/** What becomes of checks. Only `fail` fails the run. */
export const KINDS = [
  'hold',
  'fail',
  'not observed',
  'differ',
  'expected to fail',
  'not run',
] as const;

export interface Outcome {
  readonly check: Check;
  readonly kind: (typeof KINDS)[number];
  /** Why the check does not hold: each expectation that was not met, or why it was not tested. */
  readonly causes: readonly Cause[];
  readonly seconds: number;
}

export interface Cause {
  readonly text: string;
  /** The names of the first cases; empty for a check without cases. */
  readonly cases: string;
  /** That of the first case. */
  readonly exchange?: Exchange | undefined;
}

export class Run {
  readonly outcomes: Outcome[] = [];
  /** True if the service no longer responds. */
  isGone = false;
  readonly #options: RunOptions;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  /** Names the kit, the specification and the service. */
  get title(): string {
    return `petstore conformance ${VERSION}, interface ${INTERFACE_VERSION}, ${this.#options.baseUrl}`;
  }

  async outcomeOf(check: Check): Promise<Outcome> {
    const startedAt = performance.now();
    const result = this.isGone ? GONE : await this.#resultOf(check);
    const outcome = { check, ...result, seconds: (performance.now() - startedAt) / 1000 };
    this.outcomes.push(outcome);
    return outcome;
  }

  async #resultOf({ id, level, cases }: Check): Promise<Result> {
    const { expectedFailures = [], isStrict = false, key } = this.#options;
    const isExpected = expectedFailures.includes(id);
    const differences: Cause[] = [];
    const unobserved: string[] = [];
    for (const { about, run } of cases) {
      const client = new TestClient(this.#options);
      try {
        await run(client);
      } catch (error) {
        if (error instanceof NotObserved) {
          unobserved.push(error.message);
          continue;
        }
        const [text, name] = [plainText(expectationOf(error), key), plainText(about, key)];
        differences.push({ text, cases: name, exchange: client.lastExchange });
        if (!(error instanceof NoResponse)) continue;
        this.isGone = (await obstacleTo(this.#options)) !== undefined;
        break;
      }
    }
    if (differences.length > 0) {
      const isFailure = level === 'interface' || isStrict || this.isGone;
      const kind = isExpected && !this.isGone ? 'expected to fail' : isFailure ? 'fail' : 'differ';
      return { kind, causes: joined(differences) };
    }
    if (unobserved.length === cases.length) return because('not observed', unobserved[0]!);
    if (isExpected) return because('fail', `${id} holds: remove it from the expected failures`);
    return { kind: 'hold', causes: [] };
  }
}

type Result = Pick<Outcome, 'kind' | 'causes'>;

function because(kind: Outcome['kind'], text: string): Result {
  return { kind, causes: [{ text, cases: '' }] };
}

const GONE = because('not run', 'the service no longer responds');

/** Waits for a service that is starting. Rejects with why no check can be run. */
export async function openRun(options: RunOptions & { readonly waitMs: number }): Promise<Run> {
  const obstacle = await obstacleTo(options, options.waitMs);
  if (obstacle !== undefined) throw new Error(obstacle);
  return new Run(options);
}

const PAUSE_MS = 200;

/** Resolves with why no check can be run, or undefined. Waits for a service that is starting. */
export async function obstacleTo(target: Target, waitMs = 0): Promise<string | undefined> {
  const endsAt = Date.now() + waitMs;
  for (;;) {
    const [obstacle, mayPass = false] = await findObstacle(target);
    if (obstacle === undefined) return undefined;
    if (!mayPass || Date.now() + PAUSE_MS >= endsAt) return `${target.baseUrl} ${obstacle}`;
    await sleep(PAUSE_MS);
  }
}

async function findObstacle(
  target: Target,
): Promise<readonly [obstacle?: string, mayPass?: boolean]> {
  const client = new TestClient(target);
  try {
    const { status } = await client.get('/pets?limit=1');
    const returned = `GET /pets returned ${status}`;
    if (status === 401) return [`does not accept the key: ${returned}`];
    if (status >= 502 && status <= 504) return [`is not ready: ${returned}`, true];
    // A service that returns 404 for an empty list must be checked: a check reports that.
    const isElsewhere = isNowhere(status) && isNowhere((await client.post({})).status);
    return isElsewhere ? [`is not a pet store service: ${returned}`] : [];
  } catch (error) {
    return [`gave ${(error as Error).message}`, true];
  }
}

function isNowhere(status: number): boolean {
  return status === 404 || status === 405 || (status >= 300 && status <= 399);
}

const MOST_CASES = 4;

/** Joins differences with the same expectation, since they have the same cause. */
function joined(differences: readonly Cause[]): readonly Cause[] {
  return [...new Set(differences.map(({ text }) => text))].map((text) => {
    const same = differences.filter((one) => one.text === text);
    const names = same.slice(0, MOST_CASES).map(({ cases }) => cases);
    const more = same.length > MOST_CASES ? ` and ${same.length - MOST_CASES} more` : '';
    return { ...same[0]!, cases: names.join(', ') + more };
  });
}

/** What an assertion of node:assert expects. */
const EXPECTED: Readonly<Record<string, string>> = {
  strictEqual: 'expected',
  deepStrictEqual: 'expected',
  notStrictEqual: 'expected anything but',
  match: 'expected a match of',
};

const LONGEST_VALUE = 200;

/** Returns what a failed assertion expected and received, on one line. */
function expectationOf(error: unknown): string {
  const [firstLine = ''] = String((error as Error).message ?? error).split('\n');
  const words = error instanceof AssertionError ? EXPECTED[error.operator] : undefined;
  if (words === undefined) return cut(firstLine, LONGEST_VALUE);
  const { generatedMessage, actual, expected } = error as AssertionError;
  const what = generatedMessage ? '' : `${firstLine}: `;
  return `${what}${words} ${shown(expected)}, received ${shown(actual)}`;
}

/** Returns a value on one line, with bigints as JSON numbers. */
function shown(value: unknown): string {
  const options = { breakLength: Infinity, compact: true, depth: 5, maxArrayLength: 20 };
  return cut(inspect(value, options).replace(/(?<=[0-9])n\b/g, ''), LONGEST_VALUE);
}
