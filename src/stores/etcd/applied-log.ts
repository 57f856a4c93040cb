/**
 * The log as far as this process has applied it: the pets and keys of all commits up to `lastId`.
 *
 * A commit is applied only where it belongs: in the slot behind the last id, with the digest of the
 * commit before it. What does not fit throws LogLostError, and nothing of it is applied.
 */

import { isUtf8 } from 'node:buffer';
import zlib from 'node:zlib';
import { decodeCommit, type Commit, type CommittedKey } from '../commits/commit.ts';
import { scanCommit } from '../commits/commit-scanner.ts';
import { KEY_LIFETIME_MS, KeyTable, type KeyClock } from '../idempotency/key-table.ts';
import { ScannedPets, scannedBytes } from '../table/pet-scanner.ts';
import { PetTable } from '../table/pet-table.ts';
import { ifValueBegins, ifValueIs, type KeyValue, type TxnPart } from './etcd-json.ts';
import { LogLostError } from './log-lost-error.ts';
import { decodeValue, digestOf, headOf, slotKey, type Layout } from './slots.ts';

/**
 * By the time of day a key is forgotten an hour after it expires, so that processes whose clocks
 * differ by less agree on it while it counts.
 */
const KEY_GRACE_MS: number = 60 * 60 * 1000;

/** The fast way through a commit leaves pets that end nearer than this to the end of the bytes. */
const MARGIN: Buffer = Buffer.alloc(128);

/** A log, as its meta names it. */
export interface LogId {
  readonly layout: Layout;
  /** The value of the meta, as long as this process works with the log. */
  readonly meta: Buffer;
  readonly logId: string;
}

export class AppliedLog {
  readonly pets: PetTable;
  readonly keys: KeyTable;
  readonly #layout: Layout;
  readonly #meta: Buffer;
  readonly #run: ScannedPets = new ScannedPets();
  /** The slot of the last commit, and what its value begins with; undefined before the first. */
  #last: { readonly key: string; readonly head: string } | undefined;
  #digest: string;
  /**
   * The value that this process proposes at present: a range may bring it before its answer comes.
   */
  #proposed: Buffer | undefined;
  #isProposedApplied = false;
  #commitsSinceOtherWriter = Infinity;

  readonly #clock: KeyClock;
  /** A key is forgotten so many milliseconds after its time. */
  readonly #graceMs: number;

  /** `tables`, which are empty, get what is applied. */
  constructor(
    { layout, meta, logId }: LogId,
    clock: KeyClock,
    graceMs: number = KEY_GRACE_MS,
    tables: Pick<AppliedLog, 'pets' | 'keys'> = {
      pets: new PetTable(),
      keys: new KeyTable(clock),
    },
  ) {
    this.#layout = layout;
    this.#meta = meta;
    this.#digest = digestOf(logId);
    this.#clock = clock;
    this.#graceMs = graceMs;
    this.pets = tables.pets;
    this.keys = tables.keys;
  }

  get layout(): Layout {
    return this.#layout;
  }

  /** The last id that was applied, 0 where there is none: the slot behind it comes next. */
  get lastId(): bigint {
    return this.pets.lastId;
  }

  /** What the next commit has as `previous`. */
  get digest(): string {
    return this.#digest;
  }

  /** How many commits were applied since the last one of another process. */
  get commitsSinceOtherWriter(): number {
    return this.#commitsSinceOtherWriter;
  }

  /** From now on `isProposedApplied` is about this value. */
  propose(value: Buffer): void {
    this.#proposed = value;
    this.#isProposedApplied = false;
  }

  /** True if the log has the value that was proposed last, as far as it was applied. */
  get isProposedApplied(): boolean {
    return this.#isProposedApplied;
  }

  get nextSlot(): string {
    return slotKey(this.#layout, this.lastId);
  }

  /**
   * They hold as long as the log is the one that was applied. That the last slot was created at the
   * same revision would not be enough: in a log that was restored from a back-up another process
   * may have taken that slot, at that revision.
   */
  get compares(): readonly TxnPart[] {
    const meta = ifValueIs(this.#layout.meta, this.#meta);
    if (this.#last === undefined) return [meta];
    return [meta, ...ifValueBegins(this.#last.key, this.#last.head)];
  }

  /**
   * Applies what a range of slots has, in its order; what was applied already is passed over.
   * Throws LogLostError.
   */
  apply(keyValues: readonly KeyValue[]): void {
    for (const keyValue of keyValues) {
      const { key } = keyValue;
      if (!SLOT.test(key.slice(this.#layout.prefix.length))) throw strangeKey(key);
      if (key < this.nextSlot) continue;
      if (key !== this.nextSlot) {
        throw new LogLostError(`${key} does not follow on the last pet, ${this.lastId}: damage`);
      }
      this.#applyNext(keyValue);
    }
  }

  /** Applies a commit of this process, unless a range has brought it already. */
  applyOwn(commit: Commit, value: Buffer): void {
    const key = slotKey(this.#layout, commit.after);
    if (key < this.nextSlot) return;
    this.#add(commit);
    this.#seal(key, value);
    this.#isProposedApplied = true;
    this.#commitsSinceOtherWriter += 1;
  }

  #applyNext({ key, value }: KeyValue): void {
    const decoded = decodeValue(value);
    if (decoded.kind === 'unknown format') {
      throw new LogLostError(
        `${key} has a format that this release cannot read: a newer one wrote it, perhaps`,
      );
    }
    if (decoded.kind === 'damaged') throw new LogLostError(`${key} does not match its CRC`);
    if (decoded.previous !== this.#digest) {
      throw new LogLostError(`${key} follows on another commit than the one that was read here`);
    }
    const { text } = decoded;
    if (!isUtf8(text)) throw new LogLostError(`${key} is not UTF-8`);
    if (!this.#addScanned(text)) {
      const commit = decodeCommit(text, true);
      if (commit?.after !== this.lastId)
        throw new LogLostError(`${key} holds no commit of its own`);
      this.#add(commit);
    }
    this.#seal(key, value);
    const isOwn = this.#proposed !== undefined && value.equals(this.#proposed);
    if (isOwn) this.#isProposedApplied = true;
    this.#commitsSinceOtherWriter = isOwn ? this.#commitsSinceOtherWriter + 1 : 0;
  }

  /** The fast way of `#add`, for commits in the form that we write; false where it is another. */
  #addScanned(text: Buffer): boolean {
    const run = this.#run;
    run.length = 0;
    const after = this.lastId;
    const bytes = Buffer.concat([text, MARGIN]);
    const scanned = scanCommit(scannedBytes(bytes), 0, text.length, after, run);
    if (scanned === undefined) return false;
    this.pets.appendScanned(bytes, run);
    for (const key of scanned.keys) {
      const index = Number(key.id - after) - 1;
      this.#addKey(key, text.subarray(run.starts[index], run.ends[index]));
    }
    return true;
  }

  #add({ pets, keys }: Commit): void {
    this.pets.reserve(pets);
    for (const pet of pets) this.pets.append(pet);
    for (const key of keys) this.#addKey(key, this.pets.get(key.id)?.text ?? '');
  }

  #addKey({ key, id, expiresAt }: CommittedKey, petText: Buffer | string): void {
    const leftMs = expiresAt + this.#graceMs - this.#clock.timeOfDay();
    const lifetimeMs = Math.min(leftMs, KEY_LIFETIME_MS);
    this.keys.add({ key, id, petCrc: zlib.crc32(petText) }, lifetimeMs);
  }

  #seal(key: string, value: Buffer): void {
    this.#last = { key, head: headOf(value) };
    this.#digest = digestOf(value);
  }
}

const SLOT: RegExp = /^c\/[0-9]{19}$/;

function strangeKey(key: string): LogLostError {
  return new LogLostError(`${key} is no key of a log: the prefix must be for pets alone`);
}
