/**
 * The report of a run: what a person needs to fix a failure.
 *
 * A failure begins with a line that has its id. Then come the expectation, what was sent and
 * received, and other failures with the same cause. Differences from decisions follow in the same
 * form, and then the checks that were not observed, with reasons.
 */

import { KINDS, type Outcome } from './run.ts';

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
  const counts = KINDS.map((kind, index) => {
    const count = of(kind).length;
    return count > 0 || index < 3 ? [`${count} ${kind}`] : [];
  });
  return `${parts.join('')}\n${counts.flat().join('; ')}\n`;
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
