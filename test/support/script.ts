/**
 * Scripts: what happens to a store, and what it does then, as text. A file has cases, each with a
 * title, lines of commands, and after each line what it prints:
 *
 *     # A sync fails
 *     ## A comment. A paragraph of comments alone, such as a legend, is no case.
 *     > on sync data-file: error; create
 *     stored 2
 *     next start: 1, 2
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
} from '../../src/core/pets/pet-store.ts';
import { InvalidPetError } from '../../src/core/pets/pet-text.ts';
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
export type Begin = (t: TestContext, first: string) => Promise<Script>;

/** Makes a test of each case of a file, whose path is from the folder of tests. */
export function testScript(name: string, begin: Begin): void {
  const path = join(ROOT, 'test', name);
  const cases = casesOf(name);
  for (const [index, text] of cases.entries()) {
    if (text.startsWith('## ')) continue;
    test(titleOf(text), async (t) => {
      cases[index] = await runCase(t, text, begin);
      if (process.env['UPDATE'] === undefined) assert.equal(cases[index], text);
      else writeFileSync(path, `${cases.join('\n\n')}\n`);
    });
  }
}

/** The paragraphs of a script: its cases, and comments. */
export function casesOf(name: string): string[] {
  return readFileSync(join(ROOT, 'test', name), 'utf8')
    .trim()
    .split(/\n{2,}/);
}

export function titleOf(text: string): string {
  return text.split('\n')[0]!.slice(2);
}

/** Runs the commands of a case; if `isCut`, up to the first difference. Resolves with its text. */
export async function runCase(t: TestContext, text: string, begin: Begin, isCut = false) {
  const [title = '', ...lines] = text.split('\n');
  const given = lines.filter((line) => /^(>|##) /.test(line));
  const first = given.find((line) => line.startsWith('> '))!;
  const script = await begin(t, first);
  for (const line of given) {
    script.printed.push(line);
    if (line.startsWith('## ')) continue;
    for (const command of line.slice(2).split('; ')) {
      await script.run(command);
      const printed = [title, ...script.printed].join('\n');
      if (isCut && !text.startsWith(printed)) return printed;
    }
  }
  await script.end();
  return [title, ...script.printed].join('\n');
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
    const { retryAfterSeconds = 1 } = error as Partial<StoreUnavailableError>;
    const after = retryAfterSeconds === 1 ? '' : `, Retry-After ${retryAfterSeconds}`;
    return `${isUnknown ? 'unknown' : `refused${after}`}: ${(error as Error).message}`;
  }
}

const REFUSALS = [StoreUnavailableError, KeyReusedError, InvalidPetError];

/** Each text once, and how often it is there. */
export function countsOf(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, n]) => (n > 1 ? `${text} (${n} times)` : text)).join('\n');
}
