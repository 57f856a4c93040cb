/**
 * The report of a run, as a node:test reporter. It shows what a person needs to fix a failure.
 *
 * A failure begins with a line that has its id. Then come the expectation, what was sent and
 * received, and other failures with the same cause. Differences from decisions are not failures:
 * they are counted, and grouped by cause. Checks that were not observed come last, with reasons.
 * During a long run the report prints a line of progress every two seconds.
 */

import type { TestEvent } from 'node:test/reporters';
import { groupBy } from './group-by.ts';

/** The first words of a skipped test's reason, by which the report distinguishes the kinds. */
export const SKIPPED = {
  notObserved: 'not observed: ',
  differs: 'differs from a decision: ',
  expected: 'expected to fail: ',
  gone: 'not run: ',
} as const;

/** Between the causes of one difference. */
export const CAUSE_SEPARATOR = ' | ';

type Kind = keyof typeof SKIPPED | 'holds' | 'fails';

interface Outcome {
  readonly kind: Kind;
  /** The id of the check, then its sentence. */
  readonly name: string;
  /** The reason of a skipped test, or the report of a failure: first the expectation, on a line. */
  readonly text: string;
}

const PROGRESS_MS = 2000;

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const outcomes: Outcome[] = [];
  const of = (kind: Kind): readonly Outcome[] => outcomes.filter((one) => one.kind === kind);
  let printedAt = Date.now();
  for await (const event of events) {
    if (event.type === 'test:start' && event.data.nesting === 0) yield `${event.data.name}\n`;
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    // The suite around the checks is not a check.
    if (event.data.nesting === 0) continue;
    outcomes.push(outcomeOf(event));
    if (Date.now() - printedAt < PROGRESS_MS) continue;
    printedAt = Date.now();
    yield `  Checks done: ${outcomes.length}, last: ${idOf(event.data)}\n`;
  }
  const byExpectation = groupBy(of('fails'), ({ text }) => text.split('\n', 1)[0] ?? '');
  for (const group of byExpectation.values()) yield `\n${failureText(group)}`;
  if (of('differs').length > 0)
    yield '\nDiffers from the decisions of this project (not a failure):\n';
  for (const [cause, found] of groupBy(of('differs').flatMap(causesOf), ({ cause }) => cause)) {
    yield `  ${cause}: ${found.map(({ where }) => where).join(', ')}\n`;
  }
  if (of('notObserved').length > 0) yield '\nNot observed:\n';
  for (const one of of('notObserved')) yield `  ${idOf(one)} ${one.text}\n`;
  yield `\n${summary(of)}\n`;
}

type Result = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

function outcomeOf({ type, data }: Result): Outcome {
  const { name, skip } = data;
  for (const [kind, prefix] of Object.entries(SKIPPED) as [keyof typeof SKIPPED, string][]) {
    if (typeof skip === 'string' && skip.startsWith(prefix)) {
      return { kind, name, text: skip.slice(prefix.length) };
    }
  }
  if (type === 'test:pass') return { kind: 'holds', name, text: '' };
  const { error } = data.details;
  return {
    kind: 'fails',
    name,
    text: (error.cause as Error | undefined)?.message ?? error.message,
  };
}

/** Returns the causes of a difference, each with the id of the check and the cases. */
function causesOf(one: Outcome): readonly { readonly cause: string; readonly where: string }[] {
  return one.text.split(CAUSE_SEPARATOR).map((text) => {
    const [, cause = text, cases = ''] = /^(.*?)( \(.*\))?$/.exec(text) ?? [];
    return { cause, where: idOf(one) + cases };
  });
}

function failureText([first, ...others]: readonly Outcome[]): string {
  const same = others.map(({ name }) => `  also     ${name}\n`).join('');
  return `FAILS ${first!.name}\n  ${first!.text}\n${same}`;
}

function idOf({ name }: { readonly name: string }): string {
  return name.split(' ', 1)[0] ?? '';
}

function summary(of: (kind: Kind) => readonly Outcome[]): string {
  const count = (kind: Kind, words: string): string => `${of(kind).length} ${words}`;
  const parts = [
    count('holds', 'hold'),
    count('fails', 'fail'),
    count('notObserved', 'not observed'),
  ];
  if (of('differs').length > 0) parts.push(count('differs', 'differ from decisions'));
  const expected = of('expected').map(idOf).join(', ');
  if (expected !== '') parts.push(`${count('expected', 'expected to fail')}: ${expected}`);
  if (of('gone').length > 0) parts.push(count('gone', 'not run'));
  return parts.join('; ');
}
