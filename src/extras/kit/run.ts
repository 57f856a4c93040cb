/**
 * A run: checks against one service, one after the other, and what came of each.
 *
 * A check holds, fails, or is not observed because the service gave no occasion to test it. If the
 * service no longer responds, the run ends: the remaining checks are not run.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../../core/base/exact-json.ts';
import { parseInt64 } from '../../core/base/int64.ts';
import { messageOf } from '../../core/base/logger.ts';
import {
  assertNoErrors,
  condition,
  memberErrors,
  mustBe,
  type Check as OptionCheck,
} from '../../core/base/option-error.ts';
import { cut } from '../../core/base/quote.ts';
import { LEVELS, NotObserved, VERSIONS, type Check, type Level } from './check.ts';
import { checksOf, isName, isNamed } from './checks.ts';
import { plainText, secretsOf, shownText } from './shown.ts';
import { assertNothingLeft, WITH_BODY } from './expect.ts';
import {
  NoResponse,
  RunState,
  TestClient,
  TIMEOUT_MS,
  type Evidence,
  type Target,
} from './test-client.ts';

export interface ConformanceOptions extends Target {
  /** `interface` by default; each level includes those before it. */
  readonly level?: Level | undefined;
  /** Ids of checks of any level, or their parts before the slash. */
  readonly only?: readonly string[] | undefined;
  /** Checks, named in the same way, that are known to fail. If one holds, the run fails. */
  readonly expectedFailures?: readonly string[] | undefined;
  /** If true, a difference from a decision fails the run, too. */
  readonly isStrict?: boolean | undefined;
}

/** What becomes of checks. Only `fail` fails the run. */
export type Kind = 'hold' | 'fail' | 'not observed' | 'differ' | 'expected to fail' | 'not run';

export interface Outcome {
  readonly check: Check;
  readonly kind: Kind;
  /** Why the check does not hold: each expectation that was not met, or why it was not tested. */
  readonly causes: readonly Cause[];
  readonly seconds: number;
}

/** With the exchange of the first case. */
export interface Cause extends Partial<Evidence> {
  readonly text: string;
  /** The names of the cases that it is the cause of, as a list; empty for a check without cases. */
  cases: string;
}

const idErrors: OptionCheck = (value, option) => {
  const wrong = Array.isArray(value) ? value.filter((id) => !isName(id)) : [value];
  return wrong.map((id) => mustBe(option, 'an array of ids of checks', id));
};

/** They may have a secret, so they are not shown. */
function unshown(expected: string, isValid: (value: unknown) => boolean): OptionCheck {
  return (value, option) => (isValid(value) ? [] : [mustBe(option, expected, undefined)]);
}

const isText = (value: unknown): boolean => typeof value === 'string';

const OPTION_CHECKS: Readonly<Record<keyof ConformanceOptions, OptionCheck>> = {
  baseUrl: condition('a URL such as https://host/v1', (value) => URL.canParse(String(value))),
  key: unshown('a string', isText),
  headers: unshown('an object of strings', (value) => {
    return isObject(value) && Object.values(value).every(isText);
  }),
  categoryId: condition('a bigint of 64 bits', (value) => parseInt64(String(value)) === value),
  timeoutMs: condition('a positive integer', (ms) => Number.isInteger(ms) && Number(ms) > 0),
  level: condition(LEVELS.join(', '), (value) => LEVELS.some((level) => level === value)),
  only: idErrors,
  expectedFailures: idErrors,
  isStrict: condition('true or false', (value) => typeof value === 'boolean'),
};

const LONGEST_TEXT = 600;

export class Run {
  /** Names the kit, the specification and the service. */
  readonly title: string;
  readonly checks: readonly Check[];
  /** True if the service no longer responds. */
  isGone = false;
  readonly #options: ConformanceOptions;
  readonly #state = new RunState();
  #isProbed = false;

  /** Throws a TypeError if an option is wrong. */
  constructor(options: ConformanceOptions) {
    assertNoErrors(memberErrors(Object(options), OPTION_CHECKS, ['baseUrl', 'key']));
    this.#options = options;
    this.checks = checksOf(options.level, options.only);
    this.title = `petstore conformance ${VERSIONS}, ${options.baseUrl}`;
  }

  async outcomeOf(check: Check): Promise<Outcome> {
    const startedAt = performance.now();
    const end = (kind: Kind, causes: readonly Cause[]): Outcome => {
      return { check, kind, causes, seconds: (performance.now() - startedAt) / 1000 };
    };
    if (this.isGone) return end('not run', [{ text: 'the service no longer responds', cases: '' }]);
    const secrets = secretsOf(this.#options);
    const causes: Cause[] = [];
    const unobserved: Cause[] = [];
    let isObserved = false;
    for (const { about, run } of check.cases) {
      let client = new TestClient(this.#options, this.#state);
      try {
        await run(client).catch(async (error: unknown) => {
          if (error instanceof NotObserved || !(await this.#isConnectionSpoilt(error))) throw error;
          client = new TestClient(this.#options, this.#state);
          await run(client);
        });
        isObserved = true;
      } catch (error) {
        const text = plainText(cut(messageOf(error).split('\n', 1)[0]!, LONGEST_TEXT), secrets);
        const list = error instanceof NotObserved ? unobserved : causes;
        const { sent, received } = client.lastExchange;
        const exchange = { sent: shownText(sent, secrets), received: shownText(received, secrets) };
        const same = list.find((cause) => cause.text === text);
        const name = plainText(about, secrets);
        if (same !== undefined) same.cases += `, ${name}`;
        else list.push({ text, cases: name, ...exchange });
        if (!(error instanceof NoResponse)) continue;
        await awaitService(this.#options).catch(() => (this.isGone = true));
        break;
      }
    }
    const isExpected = isNamed(check, this.#options.expectedFailures ?? []);
    const isRequired = check.level === 'interface' || this.#options.isStrict;
    const failure = isExpected ? 'expected to fail' : isRequired ? 'fail' : 'differ';
    if (causes.length > 0) return end(this.isGone ? 'fail' : failure, causes);
    if (!isObserved) return end('not observed', unobserved);
    if (!isExpected) return end('hold', []);
    return end('fail', [{ text: 'it holds: remove it from the expected failures', cases: '' }]);
  }

  /**
   * Resolves with true if a failure may be due to what an earlier request left on the connection,
   * or to a close that no header announced, which is valid (RFC 9112, section 9.5). From then on
   * each request has its own connection. Only the check of that fault fails for it.
   */
  async #isConnectionSpoilt(error: unknown): Promise<boolean> {
    if (this.#state.isClosing) return false;
    if (error instanceof NoResponse) {
      this.#state.isClosing = true;
      // Each connection that fetch has kept, and that the service may be closing, too, is used up.
      const client = new TestClient(this.#options, this.#state);
      await Promise.allSettled(Array.from({ length: MOST_AT_ONCE }, () => client.get('/pets')));
      return true;
    }
    if (this.#isProbed) return false;
    this.#isProbed = true;
    const probes = WITH_BODY.map((one) => assertNothingLeft(new TestClient(this.#options), one));
    const outcomes = await Promise.allSettled(probes);
    this.#state.isClosing = outcomes.some(
      (one) => one.status === 'rejected' && !(one.reason instanceof NotObserved),
    );
    return this.#state.isClosing;
  }
}

/** The most requests that a check has sent at once, and so the most connections. */
const MOST_AT_ONCE = 20;
const PAUSE_MS = 200;
/** For the last request to a service that is starting. */
const LEAST_WAIT_MS = 1000;
const NOWHERE: readonly number[] = [301, 302, 303, 307, 308, 404, 405];

/** Waits for a service that is starting. Rejects with why no check can be run. */
export async function awaitService(target: Target, waitMs = 0): Promise<void> {
  const limitMs = target.timeoutMs ?? TIMEOUT_MS;
  for (const endsAt = Date.now() + waitMs; ; await sleep(PAUSE_MS)) {
    // A service that is starting may never respond to a request: there is time for another one.
    const halfMs = Math.max(Math.ceil((endsAt - Date.now()) / 2), LEAST_WAIT_MS);
    const timeoutMs = waitMs > 0 ? Math.min(halfMs, limitMs) : limitMs;
    const client = new TestClient({ ...target, timeoutMs });
    // A service may close the connections of earlier requests.
    client.run.isClosing = true;
    const { status } = await client.get('/pets?limit=1').catch(() => ({ status: 503 }));
    const [received] = client.lastExchange.received.split('\n', 1);
    const isStarting = [502, 503, 504].includes(status);
    if (isStarting && Date.now() + PAUSE_MS < endsAt) continue;
    let why = 'is not a pet store service';
    if (isStarting) why = 'is not ready';
    else if (status === 401) why = 'does not accept the key';
    // A service that returns 404 for an empty list must be checked: a check reports that.
    else if (!NOWHERE.includes(status) || !NOWHERE.includes((await client.post({})).status)) return;
    throw new Error(`${target.baseUrl} ${why}: GET /pets gave ${received}`);
  }
}
