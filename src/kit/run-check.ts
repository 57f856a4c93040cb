/**
 * One check against one service: its outcome, with what was sent, received and expected.
 *
 * Three outcomes are judged apart: it holds, it fails, or the service gave no occasion to see it.
 * A fourth ends the run: the service does not answer any more.
 */

import { AssertionError } from 'node:assert/strict';
import { inspect } from 'node:util';
import { NotObserved, type Check } from './check.ts';
import { Client, NoResponse, type Target } from './client.ts';
import { cut, withoutKey } from './shown.ts';

export type Outcome =
  | { readonly kind: 'holds' }
  | { readonly kind: 'fails'; readonly report: string }
  | { readonly kind: 'not observed'; readonly reason: string }
  | { readonly kind: 'gone'; readonly report: string };

export async function runCheck(check: Check, target: Target): Promise<Outcome> {
  const client = new Client(target);
  try {
    await check.run(client);
    return { kind: 'holds' };
  } catch (error) {
    if (error instanceof NotObserved) return { kind: 'not observed', reason: error.message };
    const report = reportOf(error, client);
    const isGone = error instanceof NoResponse && !(await answers(target));
    return { kind: isGone ? 'gone' : 'fails', report };
  }
}

/** Why no check can be run against the service; undefined when they can. */
export async function obstacleTo(target: Target): Promise<string | undefined> {
  const { baseUrl } = target;
  try {
    const { status } = await new Client(target).get('/pets?limit=1');
    if (status === 401) return `${baseUrl} does not accept the key: GET /pets is answered with 401`;
    const isElsewhere = status === 404 || (status >= 300 && status <= 399);
    if (isElsewhere) return `${baseUrl} is no such service: GET /pets is answered with ${status}`;
    return undefined;
  } catch (error) {
    return `${baseUrl} cannot be reached: ${(error as Error).message.replace(/^.*none: /, '')}`;
  }
}

async function answers(target: Target): Promise<boolean> {
  try {
    await new Client(target).get('/pets?limit=1');
    return true;
  } catch {
    return false;
  }
}

/** First the expectation, on one line, since failures with the same line have the same cause. */
function reportOf(error: unknown, { key, lastExchange }: Client): string {
  const exchange = lastExchange ?? { sent: 'nothing', received: 'nothing' };
  return [
    withoutKey(expectationOf(error), key),
    ...labelled('sent', exchange.sent),
    ...labelled('received', exchange.received),
  ].join('\n');
}

function labelled(label: string, text: string): readonly string[] {
  return text
    .split('\n')
    .map((line, i) => `  ${(i === 0 ? label : '').padEnd(9)} ${line}`.trimEnd());
}

const LONGEST_VALUE = 200;

/** What an assertion of node:assert expected, and what it found. */
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
      return `${what}expected any other than ${shown(actual)}`;
    case 'match':
      return `${what}expected a match of ${shown(expected)}, received ${shown(actual)}`;
    default:
      return cut(firstLine, LONGEST_VALUE);
  }
}

/** A value on one line, its bigints as JSON has them. */
function shown(value: unknown): string {
  const options = { breakLength: Infinity, compact: true, depth: 5, maxArrayLength: 20 };
  return cut(inspect(value, options).replace(/(?<=[0-9])n\b/g, ''), LONGEST_VALUE);
}
