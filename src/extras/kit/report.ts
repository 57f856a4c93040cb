/**
 * The report of a run: what a person needs to fix a failure.
 *
 * A failure begins with a line that has its id. Then come the expectation, what was sent and
 * received, its clause of SPEC.md, and other failures with the same causes. Differences from
 * decisions follow in the same form, and then the checks that were not observed, with reasons.
 */

import { Readable } from 'node:stream';
import { junit } from 'node:test/reporters';
import { cut } from '../../core/base/quote.ts';
import type { Kind, Outcome } from './run.ts';

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

/** Returns a text for all outcomes with the same causes. */
function failures(word: string, outcomes: readonly Outcome[]): string[] {
  const causesOf = ({ causes }: Outcome): string => causes.map(({ text }) => text).join('\n');
  return outcomes.flatMap((one) => {
    const same = outcomes.filter((other) => causesOf(other) === causesOf(one));
    if (same[0] !== one) return [];
    const also = same.slice(1).map(({ check, causes }) => {
      const cases = causes.map((cause) => cause.cases).join(', ');
      return `  also     ${check.title}${inParentheses(cases)}\n`;
    });
    const clauses = labelled(['clause', one.check.clauses]);
    return [`\n${word} ${one.check.title}\n  ${textOf(one)}${clauses}\n${also.join('')}`];
  });
}

/** Returns each cause on a line, followed by its cases, and what was sent and received. */
export function textOf({ causes }: Outcome): string {
  const texts = causes.map(({ text, cases, ...exchange }) => {
    const parts = Object.entries({ in: cut(cases), ...exchange });
    return `${text}${parts.map(labelled).join('')}`;
  });
  return texts.join('\n  ');
}

/** Indents all lines that are not empty. */
function labelled([label, text]: readonly [string, string]): string {
  return text && `\n  ${label.padEnd(9)} ${text.replace(/\n(?=.)/g, `\n${' '.repeat(12)}`)}`;
}

/** Returns why a check does not hold, on one line. */
export function reasonOf({ causes }: Outcome): string {
  return causes.map(({ text, cases }) => text + inParentheses(cases)).join(' | ');
}

function inParentheses(cases: string): string {
  return cases && ` (${cut(cases)})`;
}

/**
 * Returns an outcome as a test of Node. A test fails only if the run must fail, so that every
 * reporter agrees with the exit code. A difference from a decision, an expected failure, and a
 * check that was not observed are skipped tests, each with its reason.
 */
export function testResultOf(outcome: Outcome): { readonly error?: Error; readonly skip?: string } {
  if (outcome.kind === 'hold') return {};
  if (outcome.kind !== 'fail') return { skip: `${outcome.kind}: ${reasonOf(outcome)}` };
  const text = textOf(outcome);
  // Without a position in the kit, which does not help.
  const error = Object.assign(new Error(text), { stack: text });
  // JUnit's reporter gives it as the type. Since it is not enumerable, no reporter prints it.
  return { error: Object.defineProperty(error, 'failureType', { value: 'testCodeFailure' }) };
}

/**
 * Resolves with a run in JUnit's XML: a suite with a test per check. Node's reporter writes it,
 * from the events of node:test that it needs.
 */
export async function junitOf(title: string, outcomes: readonly Outcome[]): Promise<string> {
  const tests = outcomes.map((outcome) => {
    const { error, skip } = testResultOf(outcome);
    const details = { duration_ms: 1000 * outcome.seconds, error };
    const data = { name: outcome.check.title, nesting: 1, details, skip };
    return { type: error === undefined ? 'test:pass' : 'test:fail', data };
  });
  const duration_ms = tests.reduce((sum, { data }) => sum + data.details.duration_ms, 0);
  const data = { name: title, nesting: 0, details: { duration_ms } };
  const events = [{ type: 'test:start', data }, ...tests, { type: 'test:pass', data }];
  const report = Readable.from(events).compose<Readable>(junit as unknown as Readable);
  return (await report.toArray()).join('');
}
