/**
 * The report of a run: what a person needs to fix a failure.
 *
 * A failure begins with a line that has its id. Then come the expectation, what was sent and
 * received, and other failures with the same cause. Differences from decisions follow in the same
 * form, and then the checks that were not observed, with reasons.
 */

import { Readable } from 'node:stream';
import * as reporters from 'node:test/reporters';
import { KINDS, type Outcome, type Run } from './run.ts';

const DIFFERENCES =
  '\nThe service decided otherwise where the specification leaves it open. With --strict, for\n' +
  'services that adopt the decisions of this project, these differences fail the run:\n';

export function reportOf(outcomes: readonly Outcome[]): string {
  const of = (kind: string): readonly Outcome[] => outcomes.filter((one) => one.kind === kind);
  const parts = failures('FAILS', of('fail'));
  if (of('differ').length > 0) parts.push(DIFFERENCES, ...failures('DIFFERS', of('differ')));
  for (const kind of ['expected to fail', 'not observed']) {
    const lines = of(kind).map((one) => `  ${one.check.id} ${reasonOf(one)}\n`);
    if (lines.length > 0) parts.push(`\n${kind[0]!.toUpperCase()}${kind.slice(1)}:\n`, ...lines);
  }
  const counts = KINDS.map((kind) => `${of(kind).length} ${kind}`);
  const shown = counts.filter((text, index) => index < 3 || !text.startsWith('0'));
  return `${parts.join('')}\n${shown.join('; ')}\n`;
}

/** Returns a text for all outcomes with the same first expectation. */
function failures(word: string, outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap((one) => {
    const same = outcomes.filter(({ causes }) => causes[0]?.text === one.causes[0]?.text);
    if (same[0] !== one) return [];
    const others = same.slice(1).map(({ check, causes: [cause] }) => {
      return `  also     ${check.id} ${check.sentence}${inCases(cause?.cases)}\n`;
    });
    const { id, sentence } = one.check;
    return [`\n${word} ${id} ${sentence}\n  ${textOf(one)}\n${others.join('')}`];
  });
}

/** Returns each expectation on a line, followed by what was sent and received. */
export function textOf({ causes }: Outcome): string {
  const texts = causes.map(({ text, cases, exchange: { sent, received } = NOTHING }) => {
    const parts = [labelled('in', cases), labelled('sent', sent), labelled('received', received)];
    return text + parts.join('');
  });
  return texts.join('\n  ');
}

const NOTHING = { sent: '', received: '' };

function labelled(label: string, text: string): string {
  if (text === '') return '';
  const lines = text.split('\n').map((line, i) => `  ${(i === 0 ? label : '').padEnd(9)} ${line}`);
  return lines.map((line) => `\n${line.trimEnd()}`).join('');
}

/** Returns why a check does not hold, on one line. */
export function reasonOf({ causes }: Outcome): string {
  return causes.map(({ text, cases }) => text + inCases(cases)).join(' | ');
}

function inCases(cases = ''): string {
  return cases === '' ? '' : ` (${cases})`;
}

/** The reporters of node:test. */
export const REPORTERS = ['spec', 'tap', 'junit', 'dot'] as const;

export type Reporter = (typeof REPORTERS)[number];

/**
 * Returns an outcome as a test of Node, for its reporters. A test fails only if the run must fail,
 * so that every reporter agrees with the exit code. A difference from a decision, an expected
 * failure, and a check that was not observed are skipped tests, each with its reason.
 */
export function testResultOf(outcome: Outcome): { readonly error?: Error; readonly skip?: string } {
  if (outcome.kind === 'hold') return {};
  if (outcome.kind === 'fail') return { error: failureOf(textOf(outcome)) };
  return { skip: `${outcome.kind}: ${reasonOf(outcome)}` };
}

/** Returns the error of a test, without a stack: a position in the kit does not help. */
function failureOf(cause: string): Error {
  const node = { code: 'ERR_TEST_FAILURE', failureType: 'testCodeFailure', cause };
  return Object.assign(new Error(cause), { stack: cause, ...node });
}

/** Resolves with what one of Node's reporters writes about a run: a suite with a test per check. */
export async function nodeReportOf(run: Run, reporter: Reporter): Promise<string> {
  const tests = run.outcomes.map((outcome, index) => {
    const { check, seconds } = outcome;
    const { error, ...skip } = testResultOf(outcome);
    const details = { duration_ms: 1000 * seconds, error };
    const name = `${check.id} ${check.sentence}`;
    return { name, nesting: 1, testNumber: index + 1, details, ...skip };
  });
  const failed = tests.filter(({ details }) => details.error !== undefined).length;
  const error = failed > 0 ? failureOf(`${failed} fail`) : undefined;
  const duration_ms = tests.reduce((sum, { details }) => sum + details.duration_ms, 0);
  const details = { type: 'suite', duration_ms, error };
  const suite = { name: run.title, nesting: 0, testNumber: 1, details };
  const ended = (data: typeof suite | (typeof tests)[number]): object => {
    return { type: data.details.error === undefined ? 'test:pass' : 'test:fail', data };
  };
  const events = [
    { type: 'test:start', data: suite },
    ...tests.flatMap((data) => [{ type: 'test:start', data }, ended(data)]),
    { type: 'test:plan', data: { nesting: 1, count: tests.length } },
    ended(suite),
  ];
  const stream = reporter === 'spec' ? new reporters.spec() : reporters[reporter];
  const report = Readable.from(events).compose<Readable>(stream as unknown as Readable);
  return (await report.toArray()).join('');
}
