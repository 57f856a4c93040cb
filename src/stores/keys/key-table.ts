/**
 * The idempotency keys that are remembered: which pet each of them stored, and until when.
 *
 * The newest 100,000, and none for longer than 24 hours. They come in ascending order of their pets'
 * ids, so that the oldest is always the first of a ring; a table of places, with open addressing,
 * finds a key in the ring. Both are typed arrays, some 50 bytes a key, and no step of any operation
 * takes longer because there are many.
 *
 * A running process ages its keys by a clock that never goes back; the time of day counts across
 * restarts only. So a time of day that jumps neither forgets a key nor keeps it.
 */

import type { Memory } from '../../base/memory.ts';

/** The first 16 bytes of a SHA-256, as 32 hex digits (api/idempotency-key.ts). */
export type RequestKey = string;

/** A key and what it stored. */
export interface KeyEntry {
  readonly key: RequestKey;
  /** The id of its pet. */
  readonly id: bigint;
  /** When it is forgotten, in milliseconds since 1970. */
  readonly expiresAt: number;
  /** CRC-32 of the pet's text. */
  readonly petCrc: number;
}

export interface KeyClock {
  /** Milliseconds that never go back. */
  now(): number;
  /** Milliseconds since 1970. */
  timeOfDay(): number;
}

export const MAX_KEYS_KEPT = 100_000;
export const KEY_LIFETIME_MS: number = 24 * 60 * 60 * 1000;

const WORDS = 4;

export class KeyTable {
  readonly #memory: Memory;
  readonly #clock: KeyClock;
  readonly #capacity: number;
  #ring: Ring | undefined;
  /** The ring's oldest entry, and how many there are. */
  #first = 0;
  #length = 0;
  #lastId = 0n;
  #evicted = 0;

  /** For tests: `capacity` is how many keys are kept. */
  constructor(memory: Memory, clock: KeyClock, capacity: number = MAX_KEYS_KEPT) {
    this.#memory = memory;
    this.#clock = clock;
    this.#capacity = capacity;
  }

  /** How many keys are held, those that have expired too. */
  get length(): number {
    return this.#length;
  }

  /** How many went before their time, to make room for newer ones. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Makes room for any number of keys, so that adding them cannot fail. */
  reserve(): void {
    this.#ring ??= newRing(this.#memory, this.#capacity);
  }

  /** The id of the pet that the key stored; undefined where it stored none, or has expired. */
  find(key: RequestKey): bigint | undefined {
    const ring = this.#ring;
    if (ring === undefined) return undefined;
    const entry = ring.places[placeOf(ring, wordsOf(key))]! - 1;
    if (entry === -1 || ring.expiries[entry]! <= this.#clock.now()) return undefined;
    return ring.ids[entry];
  }

  /** Adds a key, whose pet's id must be greater than those before; others are there already. */
  add({ key, id, expiresAt, petCrc }: KeyEntry): void {
    if (id <= this.#lastId) return;
    this.reserve();
    const ring = this.#ring;
    if (ring === undefined) return;
    if (this.#length === this.#capacity) this.#removeFirst(ring);
    const entry = (this.#first + this.#length) % this.#capacity;
    const words = wordsOf(key);
    ring.words.set(words, WORDS * entry);
    ring.ids[entry] = id;
    const lifetimeMs = Math.min(expiresAt - this.#clock.timeOfDay(), KEY_LIFETIME_MS);
    ring.expiries[entry] = this.#clock.now() + lifetimeMs;
    ring.petCrcs[entry] = petCrc;
    // An expired entry of the same key stays in the ring, where nothing leads to it any more.
    ring.places[placeOf(ring, words)] = entry + 1;
    this.#length += 1;
    this.#lastId = id;
  }

  /** All entries, in ascending order of id; of one key, the last one counts. */
  *entries(): Generator<KeyEntry> {
    const ring = this.#ring;
    if (ring === undefined) return;
    const now = this.#clock.now();
    const timeOfDay = this.#clock.timeOfDay();
    for (let i = 0; i < this.#length; i += 1) {
      const entry = (this.#first + i) % this.#capacity;
      const words = ring.words.subarray(WORDS * entry, WORDS * (entry + 1));
      yield {
        key: Array.from(words, (word) => word.toString(16).padStart(8, '0')).join(''),
        id: ring.ids[entry]!,
        expiresAt: Math.round(timeOfDay + ring.expiries[entry]! - now),
        petCrc: ring.petCrcs[entry]!,
      };
    }
  }

  #removeFirst(ring: Ring): void {
    const entry = this.#first;
    const words = ring.words.subarray(WORDS * entry, WORDS * (entry + 1));
    const place = placeOf(ring, words);
    // Unless a later entry has the same key.
    if (ring.places[place] === entry + 1) removePlace(ring, place);
    if (ring.expiries[entry]! > this.#clock.now()) this.#evicted += 1;
    this.#first = (entry + 1) % this.#capacity;
    this.#length -= 1;
  }
}

/** Entries by their place in the ring, and places by their key. */
interface Ring {
  readonly words: Uint32Array;
  readonly ids: BigInt64Array;
  readonly expiries: Float64Array;
  readonly petCrcs: Uint32Array;
  /** The entry of a key, and one more; 0 where there is none. */
  readonly places: Uint32Array;
}

/** Twice as many places as entries at least: so few keys lie far from their homes. */
function newRing(memory: Memory, capacity: number): Ring {
  return {
    words: memory.uint32s(WORDS * capacity),
    ids: memory.int64s(capacity),
    expiries: new Float64Array(memory.int64s(capacity).buffer),
    petCrcs: memory.uint32s(capacity),
    places: memory.uint32s(2 ** Math.ceil(Math.log2(2 * capacity))),
  };
}

/** Good until it is called again: a new array each time took a good part of a create with a key. */
function wordsOf(key: RequestKey): Uint32Array {
  for (let i = 0; i < WORDS; i += 1) WORDS_OF_KEY[i] = parseInt(key.slice(8 * i, 8 * i + 8), 16);
  return WORDS_OF_KEY;
}

const WORDS_OF_KEY: Uint32Array = new Uint32Array(WORDS);

/** The place of the key, or the free one where it would be. */
function placeOf(ring: Ring, words: Uint32Array): number {
  const { places } = ring;
  let place = homeOf(words, places.length);
  for (;;) {
    const entry = places[place]! - 1;
    if (entry === -1 || isAt(ring, entry, words)) return place;
    place = (place + 1) % places.length;
  }
}

/** A key's bits are those of a SHA-256: any of them will do. */
function homeOf(words: Uint32Array, count: number): number {
  return words[0]! % count;
}

function isAt({ words: all }: Ring, entry: number, words: Uint32Array): boolean {
  for (let i = 0; i < WORDS; i += 1) if (all[WORDS * entry + i] !== words[i]) return false;
  return true;
}

/** Frees a place, and moves up those behind it that would not be found any more (Knuth 6.4, R). */
function removePlace(ring: Ring, free: number): void {
  const { places, words } = ring;
  for (let place = free; ;) {
    places[free] = 0;
    let home: number;
    do {
      place = (place + 1) % places.length;
      const entry = places[place]! - 1;
      if (entry === -1) return;
      home = homeOf(words.subarray(WORDS * entry, WORDS * (entry + 1)), places.length);
    } while (isBetween(free, home, place));
    places[free] = places[place]!;
    free = place;
  }
}

/** True when `home` lies behind `free`, up to `place`, going around at the end. */
function isBetween(free: number, home: number, place: number): boolean {
  return free <= place ? free < home && home <= place : free < home || home <= place;
}
