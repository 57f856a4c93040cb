/** Generated JSON texts, with the values that they stand for. */

import { randomStringLiteral, randomText, type Random } from './random.ts';

export interface RandomJson {
  readonly text: string;
  /** A bigint for each number that is an int64, a number for every other. */
  readonly value: unknown;
}

/** Literals of every kind. int64.test.ts has many more numbers. */
const LITERALS: readonly RandomJson[] = [
  ...[null, true, false, 1.5, -1e-7, 1e300].map((value) => ({ text: `${value}`, value })),
  ...[0n, -7n, 2n ** 53n + 1n, 2n ** 63n - 1n].map((value) => ({ text: `${value}`, value })),
  { text: '-9223372036854775808.00E+00', value: -(2n ** 63n) },
  { text: '9223372036854775808', value: 2 ** 63 },
  { text: '12.50e1', value: 125n },
  { text: '-1E-2', value: -0.01 },
];

/**
 * A JSON text without whitespace around it. Keys have no quote and no backslash, and none is there
 * twice: from Node 24 on, JSON.parse may take such an object for one with other keys.
 */
export function randomJson(random: Random, depth: number): RandomJson {
  const kind = random.below(depth > 0 ? 6 : 4);
  if (kind < 2) return random.pick(LITERALS);
  if (kind < 4) {
    const value = randomText(random, 8);
    return { text: randomStringLiteral(random, value), value };
  }
  const items = Array.from({ length: random.below(7) }, () => randomJson(random, depth - 1));
  const texts = items.map(({ text }) => spaced(random, text));
  const values = items.map(({ value }) => value);
  if (kind === 4) return { text: `[${texts.join()}]`, value: values };
  const keys = items.map((_, index) => `${random.pick(['', '1', '__proto__', 'é'])}${index}`);
  const members = keys.map((key, index) => {
    return `${spaced(random, randomStringLiteral(random, key))}:${texts[index]}`;
  });
  const entries = keys.map((key, index) => [key, values[index]]);
  return { text: `{${members.join()}}`, value: Object.fromEntries(entries) };
}

/** The text with whitespace around it, perhaps. */
function spaced(random: Random, text: string): string {
  const space = (): string => random.pick(['', '', '', '', ' ', '\n', '\t', '\r', ' \r\n\t ']);
  return space() + text + space();
}
