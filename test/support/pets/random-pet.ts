/** Generated pets, as values and as JSON texts in every layout that a Pet may have. */

import { PET_STATUSES, type NewPet, type Pet } from '../../../src/core/pets/pet.ts';
import { randomInt64, randomStringLiteral, randomText, type Random } from '../random.ts';

export function randomNewPet(random: Random): NewPet {
  const name = randomText(random, 10);
  const categoryId = randomInt64(random);
  if (random.oneIn(4)) return { name, categoryId };
  return { name, categoryId, status: random.pick(PET_STATUSES) };
}

export function randomPet(random: Random): Pet {
  return { ...randomNewPet(random), id: BigInt.asUintN(63, randomInt64(random)) || 1n };
}

/** The fields as a JSON object in any order, with whitespace and escapes, some keys given twice. */
export function randomPetText(random: Random, fields: Partial<Pet>): string {
  const members: (readonly [key: string, value: string])[] = [];
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const isInteger = typeof value === 'bigint';
    const form = random.pick(['', '', '.0', 'e0', '.00E+00', value === 0n ? '' : '0e-1']);
    const literal = isInteger ? `${value}${form}` : randomStringLiteral(random, value);
    // The last one of a key wins, so these two stay in their order.
    const earlier = random.oneIn(6) ? [[key, random.pick(['null', '[1]', '"x"'])] as const] : [];
    const at = random.below(members.length + 1);
    members.splice(at, 0, ...earlier, [key, literal]);
  }
  const space = (): string => (random.oneIn(3) ? random.pick([' ', '\n', '\t', '\r\n  ']) : '');
  const texts = members.map(([key, value]) => {
    const name = random.oneIn(4) ? randomStringLiteral(random, key) : `"${key}"`;
    return `${space()}${name}${space()}:${space()}${value}${space()}`;
  });
  return `{${texts.join(',')}}`;
}
