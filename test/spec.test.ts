/** SPEC.md: each clause has a test or a decision that names it, and each citation leads to one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECKS, checksOf } from '../src/extras/kit/checks.ts';
import { headingId, pathsIn, readText } from './support/project.ts';

const SPEC = 'src/SPEC.md';

/** The text of each clause by its number. */
const clauses = new Map<string, string>();
/** The headings by the number of their section. */
const sections = new Map<string, string>();
for (const part of readText(SPEC).split(/\n(?= *- \*\*S|#+ S)/)) {
  const [, clause, text] = /^ *- \*\*(S[0-9.]+)\*\* ([^]*)$/.exec(part) ?? [];
  const [, heading = '', section] = /^#+ ((S[0-9.]+) .+)/.exec(part) ?? [];
  if (clause !== undefined) clauses.set(clause, text!);
  if (section !== undefined) sections.set(section, heading);
}

const paths = ['README.md', ...['src', 'test', 'scripts'].flatMap(pathsIn)].filter(
  (path) => /\.(ts|mjs|md|script)$/.test(path) && ![SPEC, 'test/spec.test.ts'].includes(path),
);

const CITED = /\bS[1-9](?:\.[0-9]+)+\b/g;

function isGap(clause: string): boolean {
  return clauses.get(clause)!.startsWith('**Gap**');
}

/** Returns the clauses that a text names. */
function namedIn(text: string): readonly string[] {
  return text.match(CITED) ?? [];
}

test('Each clause of SPEC.md is named by a check of the kit or by the name of a test', () => {
  const names = paths
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) => readText(path).match(/^ *test\(\s*'[^\n]*'/gm) ?? []);
  const named = new Set([...names, ...CHECKS.map((check) => check.clauses)].flatMap(namedIn));
  const tested = [...clauses.keys()].filter((clause) => !isGap(clause));
  assert.ok(tested.length > 40);
  for (const clause of tested) assert.ok(named.has(clause), `no test names ${clause}`);
  for (const clause of named) assert.ok(tested.includes(clause), `${clause} is no such clause`);
});

test('Each gap of SPEC.md has a decision that names it', () => {
  const decided = namedIn(readText('src/core/api/README.md'));
  const gaps = [...clauses.keys()].filter(isGap);
  assert.ok(gaps.length > 8);
  for (const gap of gaps) assert.ok(decided.includes(gap), `no decision names ${gap}`);
});

test('Each check of the interface names a clause, or is what every client relies on', () => {
  for (const { id, clauses: named } of checksOf('interface')) {
    assert.match(named, /^(S[0-9.]+(, S[0-9.]+)*|what every client relies on)$/, id);
  }
});

test('Each citation leads to a clause: from a page by a link, from code by the name SPEC.md', () => {
  let count = 0;
  for (const path of paths) {
    const text = readText(path);
    assert.doesNotMatch(text, /\bspec sections?\b/i, path);
    if (!path.endsWith('.md')) {
      const cited = namedIn(text);
      count += cited.length;
      for (const clause of cited) {
        assert.ok(clauses.has(clause) || sections.has(clause), `${path} cites ${clause}`);
      }
      const isNamed = !path.startsWith('src/') || text.includes('SPEC.md');
      assert.ok(cited.length === 0 || isNamed, `${path} does not name SPEC.md`);
      continue;
    }
    const unlinked = text.replace(
      /\[(S[0-9.]+)\]\((?:\.\.\/)*(?:src\/)?SPEC\.md#([^)]*)\)/g,
      (_, clause, id) => {
        assert.ok(clauses.has(clause as string), `${path} cites ${clause}`);
        const { 0: heading = '' } = [...sections.values()].filter((one) => {
          const [section = ''] = one.split(' ');
          return (clause as string).startsWith(`${section}.`) && headingId(one) === id;
        });
        assert.notEqual(heading, '', `${path} links ${clause} to another section: ${id}`);
        count += 1;
        return '';
      },
    );
    assert.deepEqual(namedIn(unlinked), [], `${path} cites a clause without a link`);
  }
  assert.ok(count > 50);
});
