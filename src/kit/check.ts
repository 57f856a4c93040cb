/**
 * A check: one sentence about a pet store service, and how to see if it holds.
 *
 * Its id is stable: lists of expected failures and old reports name checks by it. A sentence of the
 * level `interface` is one of the specification. At the two other levels it is a decision of this
 * project where the specification is silent, and a service that decides otherwise may be as valid.
 */

import type { TestClient } from './test-client.ts';

/**
 * A level includes those before it: the decisions are about pets, the last is about HTTP itself.
 */
export const LEVELS = ['interface', 'decisions', 'http'] as const;

export type Level = (typeof LEVELS)[number];

export interface Check {
  /** Begins with the section of the specification, or with the level: `4.1/limit-maximum`. */
  readonly id: string;
  readonly level: Level;
  readonly sentence: string;
  run(client: TestClient): Promise<void>;
}

type Run = Check['run'];

export function demand(id: string, sentence: string, run: Run): Check {
  return { id, level: 'interface', sentence, run };
}

export function decision(name: string, sentence: string, run: Run): Check {
  return { id: `decisions/${name}`, level: 'decisions', sentence, run };
}

export function onHttp(name: string, sentence: string, run: Run): Check {
  return { id: `http/${name}`, level: 'http', sentence, run };
}

/** The service gave no occasion to see if the sentence holds: the check neither holds nor fails. */
export class NotObserved extends Error {
  override readonly name: string = 'NotObserved';
}
