/**
 * The report: a line for each sentence, and below one that does not hold what was sent, what came
 * back, and what was expected instead.
 */

import { AssertionError } from 'node:assert/strict';
import { inspect } from 'node:util';
import { PARTS, type Demand, type Failure } from './check.ts';
import type { Result } from './run-checks.ts';
import { harmless } from './shown.ts';

/** Of the failed cases of one check, so many are shown whole; the others are named. */
const MOST_SHOWN = 2;
const LONGEST_VALUE = 200;
const LEAD = 40;
const MARGIN = '           ';

/** Lines of a report, as its results come in. */
export interface Report {
  /** The lines about a result, below a title where its part is a new one. */
  linesOf(result: Result): readonly string[];
  summary(): string;
  /** True when all that the interface demands holds; strictly, the decisions must, too. */
  isPassed(isStrict: boolean): boolean;
}

export function createReport(key: string): Report {
  const counts = { interface: { held: 0, all: 0 }, decision: { held: 0, all: 0 } };
  let part = '';
  return {
    linesOf(result) {
      const { check, failures } = result;
      const count = counts[check.demand];
      count.all += 1;
      if (failures.length === 0) count.held += 1;
      const title = check.part === part ? [] : ['', titleOf(check.part)];
      part = check.part;
      return [...title, lineOf(result), ...failureLines(result, key)];
    },
    summary() {
      const { interface: demanded, decision: decided } = counts;
      const parts = [
        demanded.all > 0 ? [`interface: ${demanded.held} of ${demanded.all} hold`] : [],
        decided.all > 0 ? [`decisions: ${decided.held} of ${decided.all} as here`] : [],
      ];
      return parts.flat().join('; ');
    },
    isPassed(isStrict) {
      const all: readonly Demand[] = ['interface', 'decision'];
      const failed = all.filter((demand) => counts[demand].held < counts[demand].all);
      return failed.length === 0 || (!isStrict && !failed.includes('interface'));
    },
  };
}

/** What was sent, what came back and what was expected: nothing of a check that holds. */
export function failureLines({ caseCount, failures }: Result, key: string): readonly string[] {
  const lines = failures.slice(0, MOST_SHOWN).flatMap((failure) => linesOfFailure(failure, key));
  if (caseCount > 1 && failures.length > 0) {
    const names = failures.map(({ name }) => name).join('; ');
    const text = `${failures.length} of ${caseCount} cases: ${harmless(names, key)}`;
    lines.push(...labelled('in all', cut(text)));
  }
  return lines.map((line) => `${MARGIN}${line}`.trimEnd());
}

function titleOf(part: string): string {
  const name = PARTS.find(([known]) => known === part)?.[1] ?? '';
  return /^[0-9]/.test(part) ? `Part ${part}: ${name}` : `${part}: ${name}`;
}

function lineOf({ check, failures }: Result): string {
  const isInterface = check.demand === 'interface';
  const outcome = failures.length === 0 ? 'ok' : isInterface ? 'FAILED' : 'differs';
  return `  ${outcome.padEnd(7)}  ${isInterface ? '' : '(decision) '}${check.sentence}`;
}

function linesOfFailure({ name, error, exchanges }: Failure, key: string): readonly string[] {
  const last = exchanges.at(-1);
  const before = exchanges.length - 1;
  return [
    ...(name === '' ? [] : labelled('case', harmless(name, key))),
    ...(before > 0 ? labelled('before', `${before} other request${before > 1 ? 's' : ''}`) : []),
    ...(last === undefined ? [] : labelled('sent', last.sent)),
    ...(last === undefined ? [] : labelled('received', last.received)),
    ...labelled('expected', harmless(expectationOf(error), key)),
    '',
  ];
}

/** A word, and the text's lines beside and below it. */
function labelled(label: string, text: string): readonly string[] {
  return text.split('\n').map((line, i) => `${(i === 0 ? label : '').padEnd(10)}${line}`);
}

/** What an assertion expected, and what it found. */
export function expectationOf(error: unknown): string {
  if (!(error instanceof AssertionError)) return String((error as Error).message ?? error);
  const { operator, generatedMessage, message, actual, expected } = error;
  // Below its first line a message has the difference of the values, which is shown here.
  const [firstLine = ''] = message.split('\n');
  const what = generatedMessage ? '' : `${firstLine}: `;
  switch (operator) {
    case 'strictEqual':
    case 'deepStrictEqual':
      return `${what}${differenceOf(shown(expected), shown(actual))}`;
    case 'notStrictEqual':
    case 'notDeepStrictEqual':
      return `${what}not ${cut(shown(actual))}`;
    case 'match':
      return `${what}a match of ${shown(expected)}, not ${cut(shown(actual))}`;
    default:
      return cut(message);
  }
}

/** A value on one line, its bigints as JSON has them. */
function shown(value: unknown): string {
  const options = { breakLength: Infinity, compact: true, depth: 5, maxArrayLength: 150 };
  return inspect(value, options).replace(/(?<=[0-9])n\b/g, '');
}

/** Two long texts are shown from a little before the place where they part. */
function differenceOf(expected: string, actual: string): string {
  let same = 0;
  while (same < actual.length && expected[same] === actual[same]) same += 1;
  const isLong = Math.max(expected.length, actual.length) > LONGEST_VALUE;
  const start = isLong ? Math.max(0, same - LEAD) : 0;
  const from = (text: string): string => cut(`${start > 0 ? '…' : ''}${text.slice(start)}`);
  return `${from(expected)}, not ${from(actual)}`;
}

function cut(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
