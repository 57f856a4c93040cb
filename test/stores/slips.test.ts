/**
 * Planted slips of the queue, the idempotency keys and the idempotent create, each with the case of
 * a script that must notice it.
 */

import { testScriptSlips } from '../support/slips.ts';

const QUEUE = 'core/store/commit-queue.js';
const KEYED = 'core/store/keyed-creates.js';
const KEYS = 'core/store/idempotency-keys.js';
const STORE = 'core/store/file-store.js';

/** Slips that lose a pet or a key, or hide a doubt, are in test/simulation/breaks.ts. */
testScriptSlips('stores/file', 'support/disk/store-script.js', {
  'creates: Creates of one turn': [[QUEUE, 'bytes < this.#fullCommitBytes', 'count < 1']],
  'creates: A commit takes up to 16 MiB': [[QUEUE, ' && bytes < this.#fullCommitBytes', '']],
  'creates: 16,384 creates may wait': [[QUEUE, 'count >= MAX_QUEUED_ITEMS || ', '']],
  'creates: The greatest id is taken': [[STORE, 'this.#queue.pendingCount + 1', '1']],
  'creates: A key stores one pet': [
    [KEYS, 'if (pet.text === formatPet(pet.id, members))', ''],
    [KEYED, '(stored, members), isReplayed: true', '(stored, members), isReplayed: false'],
  ],
  'creates: A key is forgotten': [[KEYS, 'held.endsAt <= this.#clock.now()', 'false']],
  'creates: A retry behind a refused': [
    [KEYED, '.finally(() => this.#inProgress.delete(key))', ''],
  ],
  'creates: Creates with a key that arrive while': [
    [KEYED, 'if (earlier !== undefined)', 'if (false)'],
  ],
  // One of them is tried instead.
  'creates: They are refused with it': [
    [
      KEYED,
      'throw (isRefused ? this.#doubtOf(key) : undefined) ?? error;',
      'return { pet: await create(), isReplayed: false };',
    ],
  ],
  'creates: Creates that wait for another one': [
    [KEYED, 'this.#queue.hold(Buffer.byteLength(members))', '() => undefined'],
    [KEYED, 'release();', ''],
  ],
  'closed: A close waits for the creates': [[STORE, 'await this.#queue.whenIdle();', '']],
  // The older of two counts.
  'start: Keys are found for 24 hours': [
    [KEYS, 'this.#keys.delete(key);', 'if (this.#keys.has(key)) return;'],
  ],
});
