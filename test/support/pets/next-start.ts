/** What the next start of a service finds in its files, without a process for it. */

import type { PetStore } from '../../../src/core/pets/pet-store.ts';
import { openFileStore } from '../../../src/core/store/file-store.ts';

/** The text of each pet that a start finds, in ascending order of id. Stops without a failure. */
export async function petsAtNextStart(dataFile: string): Promise<readonly string[]> {
  const store = await openFileStore({ path: dataFile });
  const pets = await textsOf(store);
  await store.close();
  return pets;
}

/** The text of each pet of a store, in ascending order of id. */
export async function textsOf(store: PetStore): Promise<readonly string[]> {
  const texts: string[] = [];
  for (let after: bigint | undefined = 0n; after !== undefined;) {
    const page = await store.list({ limit: 1000, after });
    // JSON writes no line feed inside a string as it is. To parse each pet takes ten times as long.
    if (page.text !== '[]') texts.push(...page.text.slice(1, -1).split(',\n'));
    after = page.next;
  }
  return texts;
}
