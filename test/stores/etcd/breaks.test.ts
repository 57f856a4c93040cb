/**
 * Deliberate breaks of the etcd store, each a small slip, with the check that notices it. They test
 * the checks: these prove nothing if they miss one of them. All run on the simulated etcd.
 *
 * A check is the simulation with one kind of failure, or a case of a script. Without a break it
 * passes: simulation.test.ts and simulated.test.ts.
 */

import { SILENT, type failEverywhere } from '../../support/etcd/simulation.ts';
import { testScriptSlips, testSlips, type Slip, type Slips } from '../../support/slips.ts';

const PROPOSER = 'extras/etcd/proposer.js';
const BARRIER = 'extras/etcd/read-barrier.js';
const STORE = 'extras/etcd/etcd-store.js';
const LOG = 'extras/etcd/applied-log.js';
const SLOTS = 'extras/etcd/slots.js';
const OPEN = 'extras/etcd/open-log.js';
const KEYED = 'core/store/keyed-creates.js';
const KEYS = 'core/store/idempotency-keys.js';

/** A call whose outcome is not known counts as refused. */
const REFUSES_DOUBT: Slip = [PROPOSER, "kind === 'in doubt' || ", ''];

/** By the kind of failure. */
const IN_SIMULATION: Slips<Parameters<typeof failEverywhere>[1]> = {
  'done, cut': { 'takes a lost response for a failure': REFUSES_DOUBT },
  'done later, cut': { 'takes a late transaction for a failure': REFUSES_DOUBT },
  'done, no space': {
    'takes "no space" for a failure': [PROPOSER, "if (response.kind === 'no space')", 'if (false)'],
  },
  answered: {
    'overwrites a slot': [PROPOSER, ', ifAbsent(key)]', ']'],
    'reads without the barrier': [BARRIER, 'this.#waiting.add({ since, end });', 'end(true);'],
  },
  [SILENT]: {
    'is ready while it refuses reads': [STORE, 'this.#whyNot(1) ??', 'undefined &&'],
  },
  unsent: {
    'finds no keys': [KEYS, 'held === undefined || held.endsAt <= this.#clock.now()', 'true'],
  },
};

/** By the script and the title of the case. */
const IN_CASES: Slips<string> = {
  'in-doubt: Done and cut, then always refused': {
    'counts only the last attempt': [PROPOSER, 'const sentAt', 'isInDoubt = false; const sentAt'],
  },
  'in-doubt: Done, and the connection is cut; then answered': {
    'makes a new nonce for each attempt': [
      PROPOSER,
      'let response =',
      'txn.success[0] = put(key, encodeValue(log.digest, encodeCommit(commit))); let response =',
    ],
  },
  'in-doubt: Beside another writer a process waits for its turn': {
    'does not wait for its turn': [PROPOSER, 'if (!isAlone)', 'if (false)'],
  },
  'in-doubt: A read applies all that another process has stored, also if': {
    'ends a catch-up after one response': [LOG, 'found.count > found.keyValues.length', 'false'],
  },
  'in-doubt: A read that begins after the request of a catch-up waits for the next one': {
    'lets a read join a catch-up that has begun': [BARRIER, 'of served)', 'of this.#waiting)'],
  },
  'in-doubt: A create whose key another process stores meanwhile is a replay': {
    'looks up no key after a conflict': [STORE, 'log.keys.find(key) === undefined', 'true'],
  },
  'in-doubt: A create whose response never ends': {
    'waits without end for a response': [PROPOSER, 'if (isOver(DOUBT_MS))', 'if (false)'],
  },
  'in-doubt: Creates with one key at the same time store one pet': {
    'stores each of two creates with one key': [KEYED, 'if (earlier !== undefined)', 'if (false)'],
  },
  'in-doubt: A key is in doubt until its slot is taken': {
    'refuses a create whose key is in doubt': [KEYED, 'isRefused ? this.#doubtOf(key) : ', ''],
  },
  'in-doubt: A process keeps a key for 24 hours, though another one may keep it longer': {
    'keeps a key for an hour too long': [LOG, 'Math.min(leftMs, KEY_LIFETIME_MS)', 'leftMs'],
  },
  'in-doubt: A create in doubt when a drain begins': {
    'does not shorten the wait in doubt when it stops': [STORE, 'this.#closingAt = Math', 'Math'],
  },
  'in-doubt: A create in doubt when the store closes': {
    'closes before its creates have ended': [STORE, 'await this.#queue.whenIdle();', ''],
  },
  'working: Working, then out of reach without a failed call': {
    'lets a read wait without end': [BARRIER, 'if (waiter.since <= latest)', 'if (false)'],
  },
  'lost-log: The last slot was deleted': {
    'does not compare the last slot': [LOG, 'this.#last === undefined', 'true'],
  },
  'lost-log: The meta key is that of another log': {
    'does not compare the meta key': [LOG, 'return [meta, ifValue', 'return [ifValue'],
  },
  'lost-log: A digit of a commit is another': {
    'does not compare checksums': [SLOTS, '!== Number.parseInt(crc, 16)', '=== -1'],
  },
  'lost-log: The next slot has a copy of another commit': {
    'does not compare the digest of the commit before': [LOG, 'previous !== this.digest', 'false'],
  },
  'lost-log: A key behind the meta key': {
    'looks for no key behind the slots': [LOG, 'key !== layout.meta', 'false'],
  },
  'start: A start is refused if etcd ignores compares for an equal value': {
    'does not prove that etcd evaluates compares': [OPEN, 'await expectCompares', 'void '],
  },
};

type Simulation = typeof import('../../support/etcd/simulation.ts');

testSlips(IN_SIMULATION, 'support/etcd/simulation.js', async (loaded: Simulation, fate) => {
  return (await loaded.failEverywhere(1, fate, true)).complaints;
});
testScriptSlips('stores/etcd', 'support/etcd/etcd-script.js', IN_CASES);
