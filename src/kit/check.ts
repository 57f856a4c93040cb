/**
 * A check: a sentence about a pet store service, and a function that tests if it is true.
 *
 * The id is stable: lists of expected failures and old reports name checks by it. A sentence of the
 * level `interface` is from the specification. At the other two levels it is a decision of this
 * project on what the specification leaves open. A service that decides otherwise may be as valid.
 */

import type { TestClient } from './test-client.ts';

/** The version of the specification (spec section 9). */
export const INTERFACE_VERSION = '1.0.0';

/** Each level includes those before it. `decisions` is about pets, `http` about HTTP itself. */
export const LEVELS = ['interface', 'decisions', 'http'] as const;

export type Level = (typeof LEVELS)[number];

export interface Check {
  /** Begins with the section of the specification, or with the level: `4.1/limit-maximum`. */
  readonly id: string;
  readonly level: Level;
  readonly sentence: string;
  run(client: TestClient): Promise<unknown>;
}

export type Declare = (name: string, sentence: string, run: Check['run']) => Check;

function declareOf(level: Level, prefix: string): Declare {
  return (name, sentence, run) => ({ id: prefix + name, level, sentence, run });
}

export const demand: Declare = declareOf('interface', '');
export const decision: Declare = declareOf('decisions', 'decisions/');
export const onHttp: Declare = declareOf('http', 'http/');

/** The service gave no occasion to test the sentence: the check neither holds nor fails. */
export class NotObserved extends Error {
  override readonly name: string = 'NotObserved';
}
