/**
 * Generated cases: random numbers from a seed, so that a failure can be repeated.
 *
 * A property is a function that throws if it does not hold. Each case has its own seed, which the
 * failure names.
 */

import { createRandom as randomBelow } from '../../src/extras/contract/random.ts';
import { CASE, caseOf } from './extent.ts';

export interface Random {
  /** Returns an integer from 0 to `bound` − 1. */
  below(bound: number): number;
  pick<T>(choices: readonly T[]): T;
  /** Returns true once in `n` times. */
  oneIn(n: number): boolean;
}

export function createRandom(seed: number): Random {
  const below = randomBelow(seed);
  return {
    below,
    pick: <T>(choices: readonly T[]): T => choices[below(choices.length)]!,
    oneIn: (n) => below(n) === 0,
  };
}

/** Checks the property on `cases` generated cases. */
export function forAll(cases: number, property: (random: Random) => void): void {
  for (let seed = 1; seed <= cases; seed += 1) {
    if (CASE !== undefined && CASE !== String(seed)) continue;
    try {
      property(createRandom(seed));
    } catch (error) {
      const complaint = error instanceof Error ? error.message : String(error);
      throw new Error(`Does not hold with ${caseOf(seed)}: ${complaint}`, { cause: error });
    }
  }
}

/** Returns an int64 with any number of digits, often next to a bound. */
export function randomInt64(random: Random): bigint {
  if (random.oneIn(5)) {
    const offset = BigInt(random.below(3));
    const [min, max] = [-(2n ** 63n), 2n ** 63n - 1n];
    return random.pick([min + offset, max - offset, offset - 1n, 2n ** 53n + offset]);
  }
  const bits = (BigInt(random.below(2 ** 32)) << 32n) | BigInt(random.below(2 ** 32));
  return BigInt.asIntN(64, bits) >> BigInt(random.below(64));
}

/** Returns the bytes with one to three of them deleted, inserted or replaced. */
export function mutate(random: Random, bytes: Buffer): Buffer {
  let mutant = bytes;
  for (let edits = 1 + random.below(3); edits > 0; edits -= 1) {
    const at = random.below(mutant.length + 1);
    const deleted = random.pick([0, 1, 1, 2]);
    const inserted = random.oneIn(3) ? '' : random.pick(TELLING_BYTES);
    const parts = [mutant.subarray(0, at), Buffer.from(inserted, 'latin1')];
    mutant = Buffer.concat([...parts, mutant.subarray(at + deleted)]);
  }
  return mutant;
}

/** Bytes with a meaning in JSON, some without, and the parts of a UTF-8 character. */
const TELLING_BYTES: readonly string[] = [
  ...'{}[]:,"\\/ \n\t\r\0\x1f\x7f0123456789-+.eEuntfabrlsA\x80\xc3\xa9\xff',
];

const CHARACTERS: readonly string[] = [
  ...'aZ09 {}[]:,"\\/\0\b\f\n\r\t\x1f\x7f\u00e9\u20ac\u2028\ufeff\ufffd\u{1f436}',
  ...['\ud800', '\udc00', '\udfff\ud83d'],
];

/** Returns up to `maxLength` characters, among them awkward ones and lone surrogates. */
export function randomText(random: Random, maxLength: number): string {
  let text = '';
  for (let length = random.below(maxLength + 1); length > 0; length -= 1) {
    text += random.pick(CHARACTERS);
  }
  return text;
}

/** Returns one of the many ways to write a text as a JSON string. */
export function randomStringLiteral(random: Random, text: string): string {
  let literal = '';
  // By code point, so that a surrogate pair is written as one character or as two escapes.
  for (const character of text) literal += randomCharacter(random, character);
  return `"${literal}"`;
}

function randomCharacter(random: Random, character: string): string {
  const short = JSON.stringify(character).slice(1, -1);
  if (character === '/' && random.oneIn(2)) return '\\/';
  if (!random.oneIn(4)) return short;
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((hex) => `\\u${random.oneIn(2) ? hex : hex.toUpperCase()}`).join('');
}
