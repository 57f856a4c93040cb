/**
 * A check: one sentence about a pet store service, and how to find out whether it holds.
 *
 * It demands what the interface says, or it tells what this project decided where the interface is
 * silent. A service that differs in the latter may be as right.
 */

import type { Client, Exchange } from './client.ts';

/** What the checks are about, in the order of a report: the interface's parts, then its gaps. */
export const PARTS = [
  ['2', 'Resources and their fields'],
  ['3', 'States and transitions'],
  ['4', 'Endpoints'],
  ['4.1', 'List animals'],
  ['4.2', 'Add an animal'],
  ['4.3', 'Get an animal (deprecated)'],
  ['5', 'Authentication'],
  ['7', 'Errors'],
  ['8', 'Limits'],
  ['9', 'Versioning'],
  ['gaps', 'What the interface leaves open'],
  ['http', 'HTTP'],
  ['input', 'Bad input'],
] as const;

export type Part = (typeof PARTS)[number][0];
export type Demand = 'interface' | 'decision';

export interface Check {
  readonly part: Part;
  readonly sentence: string;
  readonly demand: Demand;
  /** Rejects when the sentence does not hold. */
  run(client: Client): Promise<void>;
}

export type Run = Check['run'];
type RunCase<T> = (client: Client, item: T) => Promise<void>;

export interface ChecksIn {
  /** A sentence of the interface. */
  demand(sentence: string, run: Run): Check;
  /** The same, which must hold for each of the cases. */
  demandEach<T>(sentence: string, cases: readonly T[], run: RunCase<T>): Check;
  /** A decision of this project. */
  decision(sentence: string, run: Run): Check;
  decisionEach<T>(sentence: string, cases: readonly T[], run: RunCase<T>, order?: Order): Check;
}

/** All at once where the service waits a second for the rest of each request. */
export type Order = 'one by one' | 'all at once';

/** Makers of checks in one part. */
export function checksIn(part: Part): ChecksIn {
  const ofAll =
    <T>(cases: readonly T[], run: RunCase<T>, order?: Order): Run =>
    (client) =>
      each(client, cases, run, order);
  return {
    demand: (sentence, run) => ({ part, sentence, demand: 'interface', run }),
    demandEach: (sentence, cases, run) => {
      return { part, sentence, demand: 'interface', run: ofAll(cases, run) };
    },
    decision: (sentence, run) => ({ part, sentence, demand: 'decision', run }),
    decisionEach: (sentence, cases, run, order) => {
      return { part, sentence, demand: 'decision', run: ofAll(cases, run, order) };
    },
  };
}

/** What failed of several cases: thrown when all were tried. */
export class CasesError extends Error {
  readonly caseCount: number;
  readonly failures: readonly Failure[];

  constructor(caseCount: number, failures: readonly Failure[]) {
    super(`${failures.length} of ${caseCount} cases: ${failures.map(({ name }) => name).join()}`);
    this.name = 'CasesError';
    this.caseCount = caseCount;
    this.failures = failures;
  }
}

export interface Failure {
  /** Of the case; empty where there is but one. */
  readonly name: string;
  readonly error: unknown;
  /** What went back and forth until then. */
  readonly exchanges: readonly Exchange[];
}

/** Tries every case, each with a client of its own, and then throws if any failed. */
export async function each<T>(
  client: Client,
  cases: readonly T[],
  run: RunCase<T>,
  order: Order = 'one by one',
): Promise<void> {
  const failures: Failure[] = [];
  const tryOne = async (item: T): Promise<void> => {
    const own = client.fork();
    try {
      await run(own, item);
    } catch (error) {
      failures.push({ name: nameOf(item), error, exchanges: own.exchanges });
    }
  };
  if (order === 'all at once') await Promise.all(cases.map(tryOne));
  else for (const item of cases) await tryOne(item);
  if (failures.length > 0) throw new CasesError(cases.length, failures);
}

/** A case that has several parts is named by the first. */
function nameOf(item: unknown): string {
  const name: unknown = Array.isArray(item) ? item[0] : item;
  const text = typeof name === 'string' ? name : (JSON.stringify(name) ?? String(name));
  return text.length > 50 ? `${text.slice(0, 50)}…` : text;
}
