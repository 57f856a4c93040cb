/**
 * A check: one sentence about a pet store service, and how to see whether it holds.
 *
 * Its id is stable: lists of expected failures and reports of last year name checks by it. Its
 * sentence at the level `interface` is one of the interface; at the two others it is a decision of
 * this project where the interface is silent, and a service that differs may be as right.
 */

import type { Client } from './client.ts';

/** A level includes those before it: the decisions are about pets, the last is about HTTP itself. */
export const LEVELS = ['interface', 'decisions', 'http'] as const;

export type Level = (typeof LEVELS)[number];

export interface Check {
  /** Begins with the interface's part, or with the level: `4.1/limit-maximum`. */
  readonly id: string;
  readonly level: Level;
  readonly sentence: string;
  run(client: Client): Promise<void>;
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

/** The service gave no occasion to see whether the sentence holds: neither right nor wrong. */
export class NotObserved extends Error {
  override readonly name: string = 'NotObserved';
}
