/**
 * The kit finds the fault of each wrong service, and none in valid services. The table of faults in
 * src/kit/README.md is compared with the result.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Check } from '../../src/kit/check.ts';
import { checksOf } from '../../src/kit/checks.ts';
import type { CheckResult } from '../../src/kit/run-check.ts';
import { isWhole } from '../support/extent.ts';
import { ROOT } from '../support/process/carry.ts';
import { faultTable, findings, KEY, resultsOf } from './fault-table.ts';
import { otherDecisions, thirdDecisions } from './other-decisions.ts';
import { createPlainServer, plainRules, type Rules } from './plain-service.ts';

const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');

/** The checks on which the removal of getPet has an effect; with --all, all of the interface. */
const REMOVAL_IDS = ['2/pet-carries', '3', '4', '4.2', '4.3', '5', '7', '9'];
const REMOVAL_CHECKS = checksOf('interface', isWhole ? [] : REMOVAL_IDS);

/** Resolves with the checks that do not hold. */
async function othersOf(
  rules: Partial<Rules>,
  checks: readonly Check[],
): Promise<readonly (readonly [string, CheckResult['kind']])[]> {
  const results = [...(await resultsOf(createPlainServer(KEY, rules), checks))];
  return results.flatMap(([id, { kind }]) => (kind === 'holds' ? [] : [[id, kind] as const]));
}

async function assertValid(rules: Partial<Rules>, checks: readonly Check[]): Promise<void> {
  const others = await othersOf(rules, checks);
  assert.deepEqual(
    others.filter(([, kind]) => kind !== 'not observed'),
    [],
  );
}

test('The plain service passes every check, except those of pages and removal, which are not observed', async () => {
  assert.deepEqual(await othersOf({}, checksOf('interface')), [
    ['4.1/pages', 'not observed'],
    ['4.1/pages-filter', 'not observed'],
    ['9/removal', 'not observed'],
  ]);
});

test('Valid services that decided every gap in one of three ways pass every check', async () => {
  const checkOf = async (decisions: Partial<Rules>): Promise<void> => {
    if (decisions !== plainRules) await assertValid(decisions, checksOf('interface'));
    await assertValid({ ...decisions, now: () => AFTER_REMOVAL_MS }, REMOVAL_CHECKS);
  };
  await Promise.all([plainRules, otherDecisions, thirdDecisions].map(checkOf));
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
