/**
 * The report of a run: what a person needs to fix a failure.
 *
 * A failure begins with a line that has its id. Then come the expectation, what was sent and
 * received, and other failures with the same cause. Differences from decisions follow in the same
 * form, and then the checks that were not observed, with reasons.
 */

import { Readable } from 'node:stream';
import * as reporters from 'node:test/reporters';
import { cut } from '../base/quote.ts';
import type { Cause, Kind, Outcome } from './run.ts';

const DIFFERENCES =
  '\nThe service decided otherwise where the specification leaves it open. With --strict, for\n' +
  'services that adopt the decisions of this project, these differences fail the run:\n';

export function reportOf(title: string, outcomes: readonly Outcome[]): string {
  const of = (kind: Kind): readonly Outcome[] => outcomes.filter((one) => one.kind === kind);
  const parts = failures('FAILS', of('fail'));
  if (of('differ').length > 0) parts.push(DIFFERENCES, ...failures('DIFFERS', of('differ')));
  for (const kind of ['expected to fail', 'not observed'] as const) {
    const lines = of(kind).map((one) => `  ${one.check.id} ${reasonOf(one)}\n`);
    if (lines.length > 0) parts.push(`\n${kind[0]!.toUpperCase()}${kind.slice(1)}:\n`, ...lines);
  }
  const kinds = new Set<Kind>(['hold', 'fail', 'not observed', ...outcomes.map((one) => one.kind)]);
  const sums = Array.from(kinds, (kind) => `${of(kind).length} ${kind}`).join('; ');
  return `${title}\n${parts.join('')}\n${sums}\n`;
}

/** Returns a text for all outcomes with the same first cause. */
function failures(word: string, outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap((one) => {
    const same = outcomes.filter(({ causes }) => causes[0]!.text === one.causes[0]!.text);
    if (same[0] !== one) return [];
    const also = same.slice(1).map(({ check, causes }) => {
      return `  also     ${check.id} ${check.sentence}${inParentheses(causes[0]!)}\n`;
    });
    return [`\n${word} ${one.check.id} ${one.check.sentence}\n  ${textOf(one)}\n${also.join('')}`];
  });
}

/** Returns each cause on a line, followed by its cases, and what was sent and received. */
export function textOf({ causes }: Outcome): string {
  const texts = causes.map(({ text, cases, exchange }) => {
    return text + Object.entries({ in: cut(cases), ...exchange }).map(labelled).join('');
  });
  return texts.join('\n  ');
}

/** Indents all lines that are not empty. */
function labelled([label, text]: readonly [string, string]): string {
  return text && `\n  ${label.padEnd(9)} ${text.replace(/\n(?=.)/g, `\n${' '.repeat(12)}`)}`;
}

/** Returns why a check does not hold, on one line. */
export function reasonOf({ causes }: Outcome): string {
  return causes.map((cause) => cause.text + inParentheses(cause)).join(' | ');
}

function inParentheses({ cases }: Cause): string {
  return cases && ` (${cut(cases)})`;
}

/** The reporters of node:test. */
export const REPORTERS = ['spec', 'tap', 'junit', 'dot'] as const;

/**
 * Returns an outcome as a test of Node, for its reporters. A test fails only if the run must fail,
 * so that every reporter agrees with the exit code. A difference from a decision, an expected
 * failure, and a check that was not observed are skipped tests, each with its reason.
 */
export function testResultOf(outcome: Outcome): { readonly error?: Error; readonly skip?: string } {
  if (outcome.kind === 'hold') return {};
  if (outcome.kind !== 'fail') return { skip: `${outcome.kind}: ${reasonOf(outcome)}` };
  return { error: testError(textOf(outcome), 'testCodeFailure') };
}

/** An error as node:test reports one, without a position in the kit, which does not help. */
function testError(message: string, failureType: string): Error {
  const error = Object.assign(new Error(message), { stack: message });
  // JUnit's reporter gives it as the type. Since it is not enumerable, no reporter prints it.
  return Object.defineProperty(error, 'failureType', { value: failureType });
}

/**
 * Resolves with what one of Node's reporters writes about a run: a suite with a test per check. A
 * reporter reads the events that node:test sends.
 */
export async function nodeReportOf(
  title: string,
  outcomes: readonly Outcome[],
  reporter: (typeof REPORTERS)[number],
): Promise<string> {
  const details = { type: 'suite', duration_ms: 0, error: undefined as Error | undefined };
  const suite = { name: title, nesting: 0, testNumber: 1, details };
  const events: object[] = [{ type: 'test:start', data: suite }];
  for (const [index, outcome] of outcomes.entries()) {
    const { error, skip } = testResultOf(outcome);
    const own = { duration_ms: 1000 * outcome.seconds, error };
    const name = `${outcome.check.id} ${outcome.check.sentence}`;
    const data = { name, nesting: 1, testNumber: index + 1, details: own, skip };
    events.push({ type: 'test:start', data }, { type: error ? 'test:fail' : 'test:pass', data });
    details.duration_ms += own.duration_ms;
    // An error of this type, so that no reporter lists the suite among the tests that failed.
    if (error !== undefined) details.error = testError('a check failed', 'subtestsFailed');
  }
  events.push({ type: 'test:plan', data: { nesting: 1, count: outcomes.length } });
  events.push({ type: details.error ? 'test:fail' : 'test:pass', data: suite });
  const stream = reporter === 'spec' ? new reporters.spec() : reporters[reporter];
  const report = Readable.from(events).compose<Readable>(stream as unknown as Readable);
  return (await report.toArray()).join('');
}
