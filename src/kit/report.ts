/**
 * The report of a run: what a person needs to fix a failure.
 *
 * A failure begins with a line that has its id. Then come the expectation, what was sent and
 * received, and other failures with the same cause. Differences from decisions follow in the same
 * form, and then the checks that were not observed, with reasons.
 */

import { Readable } from 'node:stream';
import * as reporters from 'node:test/reporters';
import { VERSION } from '../base/version.ts';
import { INTERFACE_VERSION } from './check.ts';
import { MAIN_KINDS, RARE_KINDS, type Cause, type Outcome } from './run.ts';

/** Names the kit, the specification and the service. */
export function titleOf(baseUrl: string): string {
  return `petstore conformance ${VERSION}, interface ${INTERFACE_VERSION}, ${baseUrl}`;
}

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
  const kinds = [...MAIN_KINDS, ...RARE_KINDS.filter((kind) => of(kind).length > 0)];
  return `${parts.join('')}\n${kinds.map((kind) => `${of(kind).length} ${kind}`).join('; ')}\n`;
}

/** Returns a text for all outcomes with the same first expectation. */
function failures(word: string, outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap((one) => {
    const same = outcomes.filter(({ causes }) => causes[0]!.text === one.causes[0]!.text);
    if (same[0] !== one) return [];
    const others = same.slice(1).map(({ check, causes }) => {
      return `  also     ${check.id} ${check.sentence}${inParentheses(casesOf(causes[0]!))}\n`;
    });
    const { id, sentence } = one.check;
    return [`\n${word} ${id} ${sentence}\n  ${textOf(one)}\n${others.join('')}`];
  });
}

/** Returns each expectation on a line, followed by what was sent and received. */
export function textOf({ causes }: Outcome): string {
  const texts = causes.map((cause) => {
    const { sent = '', received = '' } = cause.exchange ?? {};
    const parts = { in: casesOf(cause), sent, received };
    return cause.text + Object.entries(parts).map(labelled).join('');
  });
  return texts.join('\n  ');
}

function labelled([label, text]: readonly [string, string]): string {
  if (text === '') return '';
  const lines = text.split('\n').map((line, i) => `  ${(i === 0 ? label : '').padEnd(9)} ${line}`);
  return lines.map((line) => `\n${line.trimEnd()}`).join('');
}

/** Returns why a check does not hold, on one line. */
export function reasonOf({ causes }: Outcome): string {
  return causes.map((cause) => cause.text + inParentheses(casesOf(cause))).join(' | ');
}

const MOST_CASES = 4;

function casesOf({ cases }: Cause): string {
  const more = cases.length > MOST_CASES ? ` and ${cases.length - MOST_CASES} more` : '';
  return cases.slice(0, MOST_CASES).join(', ') + more;
}

const inParentheses = (text: string): string => (text === '' ? '' : ` (${text})`);

/** The reporters of node:test. */
export const REPORTERS = ['spec', 'tap', 'junit', 'dot'] as const;

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
    const name = `${outcome.check.id} ${outcome.check.sentence}`;
    const own = { duration_ms: 1000 * outcome.seconds, error };
    const data = { name, nesting: 1, testNumber: index + 1, details: own, skip };
    events.push({ type: 'test:start', data }, { type: error ? 'test:fail' : 'test:pass', data });
    details.duration_ms += own.duration_ms;
    details.error ??= error;
  }
  events.push({ type: 'test:plan', data: { nesting: 1, count: outcomes.length } });
  events.push({ type: details.error ? 'test:fail' : 'test:pass', data: suite });
  const stream = reporter === 'spec' ? new reporters.spec() : reporters[reporter];
  const report = Readable.from(events).compose<Readable>(stream as unknown as Readable);
  return (await report.toArray()).join('');
}
