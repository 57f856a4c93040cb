/**
 * The words of the project: one word for one thing, and plain English. What a machine can hold of
 * that is held here; the glossary is in src/TOUR.md.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathsIn, readText } from './support/project.ts';

/** Lines by the path of their file, such as `src/app.ts`. */
const files = new Map(
  ['README.md', ...['src', 'test', 'scripts'].flatMap(pathsIn)]
    .filter((path) => /\.(ts|mjs|md)$/.test(path) && path !== 'test/words.test.ts')
    .map((path) => [path, readText(path).split('\n')]),
);

/** Each word or phrase, with what is written instead. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [
    /\b(is|are|was|were|(?<!cannot )be|been) told\b|\btell(s|ing)? of\b/i,
    'is reported, logs, returns',
  ],
  [/\bbut for\b|\bbut that\b|\ball but\b/i, 'except'],
  [/\bunder way\b|\bat work\b/i, 'in progress, running'],
  [/\bof (ours|theirs)\b|\bnot ours any more\b/i, "this store's, its own"],
  [/\bfor good\b/i, 'durably, permanently'],
  [/\blet(s|ting)? go of\b|\bg(i|a)v(e|es|en|ing) up\b/i, 'releases, abandons'],
  [/\b(in|take|takes|took) the place of\b|\bin place of\b/i, 'instead of, replaces'],
  [/\bput together\b/i, 'assembled'],
  [/\b(fast|general|slow) way\b/i, 'the fast path, the parser'],
  [/\bas good as\b|\bno more than\b|\bat the (least|most)\b/i, 'as valid as, at most, at least'],
  [/\bsome [0-9][0-9,]* \w/i, 'about 50 bytes, 5 %'],
  [/\b(lies|lives|dies|heals|heal)\b|\bis dead\b/i, 'is, is stored, ends, recovers'],
  [/\bshould (it|they|he|that|one)\b|\bbe it\b/i, 'if'],
  [
    /\bback-ups?\b|\btime-outs?\b|\bwhite space\b|\bpower cuts?\b/i,
    'backup, timeout, power failure',
  ],
  [/(^|[.:;(] |\* |\/\/ |')Who(ever)? /, 'a client that, a process that: "who" is for people'],
  [/\bsomebody\b/i, 'the client, another process: name the actor'],
  [/\b(that|which|what) (is|are) none\b|\bwhat is no\b/i, 'name the noun'],
  [/\bplaceOf\b|\b\w+Place\b|[.({,] ?places?\??[:),]|\b(const|let|function) places?\b/, 'the noun'],
  [/^(?=.{101})\s*(\/\/|\/\*|\*\s)/, 'a comment of at most 100 columns'],
];

test('No line has a phrase that this test replaces by another', () => {
  const found: string[] = [];
  for (const [file, lines] of files) {
    for (const [index, line] of lines.entries()) {
      for (const [phrase, instead] of PHRASES) {
        const [match] = phrase.exec(line) ?? [];
        if (match === undefined) continue;
        found.push(`${file}:${index + 1} has "${match.trim()}", write: ${instead}`);
      }
    }
  }
  assert.equal(found.join('\n'), '');
});
