/**
 * The kit finds the fault of each wrong service, and none in valid services. The table of faults in
 * src/kit/README.md is compared with the result.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checksOf } from '../../src/kit/checks.ts';
import { isWhole } from '../support/extent.ts';
import { ROOT } from '../support/process/carry.ts';
import { faultTable, findings, resultsOf } from './fault-table.ts';
import { otherDecisions, thirdDecisions } from './other-decisions.ts';
import type { Rules } from './plain-service.ts';

const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');

/** The checks on which the removal of getPet has an effect; with --all, all of the interface. */
const REMOVAL_IDS = ['2/pet-carries', '3', '4', '4.2', '4.3', '5', '7', '9'];
const REMOVAL_CHECKS = checksOf('interface', isWhole ? [] : REMOVAL_IDS);

/** Resolves with the checks that do not hold, each with its result. */
async function othersOf(
  rules: Partial<Rules>,
  checks = checksOf('interface'),
): Promise<readonly string[]> {
  const results = [...(await resultsOf(rules, checks))];
  return results.flatMap(([id, { kind }]) => (kind === 'holds' ? [] : [`${id} ${kind}`]));
}

test('The plain service passes every check, except those of pages and removal, which are not observed', async () => {
  const ids = ['4.1/pages', '4.1/pages-filter', '9/removal'];
  const expected = ids.map((id) => `${id} not observed`);
  assert.deepEqual(await othersOf({}), expected);
});

test('Services that decided every gap in one of three ways pass every check', async () => {
  const assertValid = async (rules: Partial<Rules>): Promise<void> => {
    const removed = { ...rules, now: () => AFTER_REMOVAL_MS };
    const others = [...(await othersOf(rules)), ...(await othersOf(removed, REMOVAL_CHECKS))];
    const failed = others.filter((text) => !text.endsWith('not observed'));
    assert.deepEqual(failed, []);
  };
  await Promise.all([{}, otherDecisions, thirdDecisions].map(assertValid));
});

test('The fault of each wrong service is found by the check that is named for it', async (t) => {
  const found = await findings();
  assert.ok(found.length >= 40, `${found.length} faults`);
  for (const { what, foundBy, isFound } of found) {
    await t.test(what, () => assert.ok(isFound, `${foundBy} does not fail`));
  }
  await t.test('src/kit/README.md has the table of the faults', () => {
    const page = readFileSync(join(ROOT, 'src', 'kit', 'README.md'), 'utf8');
    assert.ok(page.includes(faultTable(found)), 'node scripts/planted-faults.mjs prints it');
  });
});
