/**
 * The report of a run, as a reporter of node:test: what a person does next.
 *
 * One line for each failure with its id, below it what was expected, sent and received, and the
 * other failures with the same cause. Decisions that differ are no failures: they are counted, and
 * grouped by cause. The sentences that could not be observed come last, with the reason.
 */

import type { TestEvent } from 'node:test/reporters';

interface Failed {
  readonly name: string;
  /** The expectation, on the first line, and then what was sent and received. */
  readonly report: string;
}

interface Counts {
  holds: number;
  readonly fails: Failed[];
  readonly differs: Failed[];
  readonly expected: string[];
  readonly notObserved: string[];
}

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const counts: Counts = { holds: 0, fails: [], differs: [], expected: [], notObserved: [] };
  for await (const event of events) {
    if (event.type === 'test:start' && event.data.nesting === 0) yield `${event.data.name}\n`;
    if (event.type === 'test:pass' || event.type === 'test:fail') add(counts, event);
  }
  for (const group of byCause(counts.fails)) yield `\n${failureText(group)}`;
  if (counts.differs.length > 0)
    yield '\nDiffers from the decisions of this project, which is no fault:\n';
  for (const group of byCause(counts.differs)) yield `  ${differenceText(group)}`;
  if (counts.notObserved.length > 0) yield '\nNot observed:\n';
  for (const line of counts.notObserved) yield `  ${line}\n`;
  yield `\n${summary(counts)}\n`;
}

type Result = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

function add(counts: Counts, { type, data }: Result): void {
  // The suite around the checks has no result of its own.
  if (data.nesting === 0) return;
  if (typeof data.skip === 'string') {
    counts.notObserved.push(`${idOf(data.name)} ${data.skip.replace(/^not observed: /, '')}`);
  } else if (type === 'test:pass') {
    counts.holds += 1;
  } else {
    const { error } = data.details;
    const failed = {
      name: data.name,
      report: (error.cause as Error | undefined)?.message ?? error.message,
    };
    if (data.todo === EXPECTED) counts.expected.push(idOf(data.name));
    else if (data.todo === undefined || data.todo === false) counts.fails.push(failed);
    else counts.differs.push(failed);
  }
}

const EXPECTED = 'an expected failure';

/** Failures with the same expectation, in the order of their first. */
function byCause(failures: readonly Failed[]): readonly (readonly Failed[])[] {
  const groups = new Map<string, Failed[]>();
  for (const failed of failures) {
    const cause = causeOf(failed);
    groups.set(cause, [...(groups.get(cause) ?? []), failed]);
  }
  return [...groups.values()];
}

function causeOf({ report }: Failed): string {
  return report.split('\n', 1)[0] ?? '';
}

function failureText([first, ...others]: readonly Failed[]): string {
  if (first === undefined) return '';
  const same = others.map(({ name }) => `  so does  ${name}\n`).join('');
  return `FAILS ${first.name}\n  ${first.report}\n${same}`;
}

function differenceText(group: readonly Failed[]): string {
  const ids = group.map(({ name }) => idOf(name)).join(', ');
  return `${causeOf(group[0]!)}: ${ids}\n`;
}

function idOf(name: string): string {
  return name.split(' ', 1)[0] ?? '';
}

function summary({ holds, fails, differs, expected, notObserved }: Counts): string {
  const parts = [`${holds} hold`, `${fails.length} fail`, `${notObserved.length} not observed`];
  if (differs.length > 0) parts.push(`${differs.length} differ from decisions`);
  if (expected.length > 0)
    parts.push(`${expected.length} expected to fail: ${expected.join(', ')}`);
  return parts.join('; ');
}
