/**
 * Runs one check against one service. The result has what was sent, received and expected.
 *
 * A check holds, fails, or is not observed because the service gave no occasion to test it. The
 * fourth result, `gone`, ends the run: the service no longer responds.
 */

import { AssertionError } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { NotObserved, type Check } from './check.ts';
import { Differences, type Difference } from './each-case.ts';
import { groupBy } from './group-by.ts';
import { cut, plainText } from './shown.ts';
import { NoResponse, TestClient, type Target } from './test-client.ts';

export type CheckResult =
  { readonly kind: 'holds' } | { readonly kind: 'not observed'; readonly reason: string } | Failed;

interface Failed {
  readonly kind: 'fails' | 'gone';
  /** Each expectation on a line, followed by what was sent and received. */
  readonly report: string;
  /** The expectations, each with its cases. */
  readonly causes: readonly string[];
}

export async function runCheck(check: Check, target: Target): Promise<CheckResult> {
  const client = new TestClient(target);
  try {
    await check.run(client);
    return { kind: 'holds' };
  } catch (error) {
    if (error instanceof NotObserved) return { kind: 'not observed', reason: error.message };
    const one = { about: '', error, exchange: client.lastExchange };
    const groups = byExpectation(error instanceof Differences ? error.all : [one], target.key);
    const isLost = groups.some(({ differences: [first] }) => first?.error instanceof NoResponse);
    const isGone = isLost && (await findObstacle(target))?.kind === 'unreachable';
    return {
      kind: isGone ? 'gone' : 'fails',
      report: groups.map(reportOf).join('\n  '),
      causes: groups.map((group) => group.expectation + (group.cases && ` (${group.cases})`)),
    };
  }
}

/** Why no check can be run. A service that is unreachable or not ready may need more time. */
interface Obstacle {
  readonly kind: 'unreachable' | 'not ready' | 'wrong';
  readonly message: string;
}

const PAUSE_MS = 200;

/** Resolves with why no check can be run, or undefined. Waits for a service that is starting. */
export async function obstacleTo(target: Target, waitMs = 0): Promise<string | undefined> {
  const endsAt = Date.now() + waitMs;
  for (;;) {
    const obstacle = await findObstacle(target);
    const isTimeLeft = Date.now() + PAUSE_MS < endsAt;
    if (obstacle === undefined || obstacle.kind === 'wrong' || !isTimeLeft) {
      return obstacle?.message;
    }
    await sleep(PAUSE_MS);
  }
}

async function findObstacle(target: Target): Promise<Obstacle | undefined> {
  const client = new TestClient(target);
  const obstacle = (kind: Obstacle['kind'], what: string): Obstacle => {
    return { kind, message: `${target.baseUrl} ${what}` };
  };
  try {
    const { status } = await client.get('/pets?limit=1');
    const returned = `GET /pets returned ${status}`;
    if (status === 401) return obstacle('wrong', `does not accept the key: ${returned}`);
    if (status >= 502 && status <= 504) return obstacle('not ready', `is not ready: ${returned}`);
    // A service that returns 404 for an empty list must be checked: a check reports that.
    const isElsewhere = isNowhere(status) && isNowhere((await client.post({})).status);
    return isElsewhere ? obstacle('wrong', `is not a pet store service: ${returned}`) : undefined;
  } catch (error) {
    const reason = (error as Error).message.replace(/^.*none: /, '');
    return obstacle('unreachable', `cannot be reached: ${reason}`);
  }
}

function isNowhere(status: number): boolean {
  return status === 404 || status === 405 || (status >= 300 && status <= 399);
}

interface Group {
  readonly expectation: string;
  /** The names of the first cases; empty for a check without cases. */
  readonly cases: string;
  readonly differences: readonly Difference[];
}

const MOST_CASES = 4;

/** Differences with the same expectation have the same cause. */
function byExpectation(all: readonly Difference[], key: string): readonly Group[] {
  const groups = groupBy(all, ({ error }) => plainText(expectationOf(error), key));
  return [...groups].map(([expectation, differences]) => {
    const names = differences.map(({ about }) => plainText(about, key));
    const more = names.length > MOST_CASES ? ` and ${names.length - MOST_CASES} more` : '';
    return { expectation, differences, cases: `${names.slice(0, MOST_CASES).join(', ')}${more}` };
  });
}

/** The first line is the expectation, by which the report groups failures of several checks. */
function reportOf({ expectation, cases, differences: [first] }: Group): string {
  const { sent, received } = first?.exchange ?? { sent: 'nothing', received: 'nothing' };
  return [
    expectation,
    ...(cases === '' ? [] : labelled('in', cases)),
    ...labelled('sent', sent),
    ...labelled('received', received),
  ].join('\n');
}

function labelled(label: string, text: string): readonly string[] {
  return text
    .split('\n')
    .map((line, i) => `  ${(i === 0 ? label : '').padEnd(9)} ${line}`.trimEnd());
}

const LONGEST_VALUE = 200;

/** Returns what a node:assert assertion expected and received, on one line. */
function expectationOf(error: unknown): string {
  if (!(error instanceof AssertionError)) return String((error as Error).message ?? error);
  const { operator, generatedMessage, actual, expected } = error;
  const [firstLine = ''] = error.message.split('\n');
  const what = generatedMessage ? '' : `${firstLine}: `;
  switch (operator) {
    case 'strictEqual':
    case 'deepStrictEqual':
      return `${what}expected ${shown(expected)}, received ${shown(actual)}`;
    case 'notStrictEqual':
      return `${what}expected anything but ${shown(actual)}`;
    case 'match':
      return `${what}expected a match of ${shown(expected)}, received ${shown(actual)}`;
    default:
      return cut(firstLine, LONGEST_VALUE);
  }
}

/** Returns a value on one line, with bigints as JSON numbers. */
function shown(value: unknown): string {
  const options = { breakLength: Infinity, compact: true, depth: 5, maxArrayLength: 20 };
  return cut(inspect(value, options).replace(/(?<=[0-9])n\b/g, ''), LONGEST_VALUE);
}
