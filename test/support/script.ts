/**
 * Scripts: what happens to a store, and what it does then, as text. A file has cases, each with a
 * title, lines of commands, and after each line what it prints:
 *
 *     # Working: the lock is lost before a write
 *     > remove lock; create k1
 *     refused: The lock file was removed, or its folder moved
 *     next start: 1
 *
 * `UPDATE=1` writes what was printed into the file: read the difference before you commit it.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  KeyReusedError,
  OutcomeUnknownError,
  StoreUnavailableError,
  type PetStore,
} from '../../src/model/pet-store.ts';
import { InvalidPetError } from '../../src/model/pet-text.ts';
import { REX } from './pets/rex.ts';
import { requestKey } from './pets/request-keys.ts';
import { ROOT } from './project.ts';

/** A case that runs. */
export interface Script {
  readonly printed: string[];
  run(command: string): Promise<void>;
  /** Checks what holds at the end of each case, and prints what the next start finds. */
  end(): Promise<void>;
}

/** Begins a case; `first` is its first line of commands. */
type Begin = (t: TestContext, first: string) => Promise<Script>;

/** Makes a test of each case of a file, whose path is from the folder of tests. */
export function testScript(name: string, begin: Begin): void {
  const path = join(ROOT, 'test', name);
  const cases = readFileSync(path, 'utf8')
    .trim()
    .split(/\n{2,}/);
  for (const [index, text] of cases.entries()) {
    const [title = '', ...lines] = text.split('\n');
    test(title.slice(2), async (t) => {
      const commands = lines.filter((line) => line.startsWith('> '));
      const script = await begin(t, commands[0]!);
      for (const line of commands) {
        script.printed.push(line);
        for (const command of line.slice(2).split('; ')) await script.run(command);
      }
      await script.end();
      cases[index] = [title, ...script.printed].join('\n');
      if (process.env['UPDATE'] === undefined) assert.equal(cases[index], text);
      else writeFileSync(path, `${cases.join('\n\n')}\n`);
    });
  }
}

/**
 * Creates a Rex, or a pet with this name, and with a key such as k1 if there is one: `k1 Tom`. A
 * key may be given by its hash. The name x9 has nine letters. Resolves with what the client gets.
 */
export async function outcomeOf(store: PetStore, text: string): Promise<string> {
  const [, key, given] = /^(?:k([0-9a-f]{32}|\d) ?)?(.*)$/.exec(text)!;
  const [, letter = '', length] = /^(.)(\d+)$/.exec(given!) ?? [];
  const name = length === undefined ? given || REX.name : letter.repeat(Number(length));
  try {
    if (key === undefined) return `stored ${(await store.create({ ...REX, name })).id}`;
    const hash = key.length === 1 ? requestKey(Number(key)) : key;
    const { pet, isReplayed } = await store.createOnce!({ ...REX, name }, hash);
    return `stored ${pet.id}${isReplayed ? ' before' : ''}`;
  } catch (error) {
    const isUnknown = error instanceof OutcomeUnknownError;
    assert.ok(isUnknown || REFUSALS.some((refusal) => error instanceof refusal), String(error));
    return `${isUnknown ? 'unknown' : 'refused'}: ${(error as Error).message}`;
  }
}

const REFUSALS = [StoreUnavailableError, KeyReusedError, InvalidPetError];

/** Each text once, and how often it is there. */
export function countsOf(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, n]) => (n > 1 ? `${text} (${n} times)` : text)).join('\n');
}
