/** Generated JSON texts, with the values that they stand for. */

import { INT64_MAX, INT64_MIN } from '../../src/base/int64.ts';
import { randomInt64, randomStringLiteral, randomText, type Random } from './random.ts';

export interface RandomJson {
  readonly text: string;
  /** A bigint for each number that is an int64, a number for every other. */
  readonly value: unknown;
}

/**
 * A JSON text without whitespace around it. Keys have no quote and no backslash, and none is there
 * twice: from Node 24 on, JSON.parse may take such an object for one with other keys.
 */
export function randomJson(random: Random, depth: number): RandomJson {
  const kind = random.below(depth > 0 ? 6 : 4);
  if (kind === 0) {
    const value = random.pick([null, true, false]);
    return { text: String(value), value };
  }
  if (kind === 1) return randomNumber(random);
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

function randomNumber(random: Random): RandomJson {
  if (random.oneIn(2)) {
    const value = randomInt64(random);
    return { text: `${value}${random.pick(['', '', '.0', 'e0', '.00E+0'])}`, value };
  }
  const digits = (count: number): string =>
    Array.from({ length: count }, () => random.below(10)).join('');
  const whole = random.oneIn(3) ? '0' : `${1 + random.below(9)}${digits(random.below(25))}`;
  const fraction = random.oneIn(2) ? '' : `.${digits(1 + random.below(20))}`;
  const sign = random.pick(['', '+', '-']);
  const power = `${random.pick(['e', 'E'])}${sign}${digits(1 + random.below(2))}`;
  const text = random.pick(['', '-']) + whole + fraction + random.pick(['', power]);
  return { text, value: exactInt64(text) ?? Number(text) };
}

/** The int64 that a JSON number is, if it is one, by exact arithmetic. */
function exactInt64(literal: string): bigint | undefined {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const scale = BigInt(exponent.replace('+', '')) - BigInt(fraction.length);
  const digits = BigInt(whole + fraction);
  const divisor = scale < 0n ? 10n ** -scale : 1n;
  if (digits % divisor !== 0n) return undefined;
  const value = scale < 0n ? digits / divisor : digits * 10n ** scale;
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}

/** The text with whitespace around it, perhaps. */
function spaced(random: Random, text: string): string {
  const space = (): string => random.pick(['', '', '', '', ' ', '\n', '\t', '\r', ' \r\n\t ']);
  return space() + text + space();
}
