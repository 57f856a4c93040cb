/**
 * The kit finds the fault of each wrong service, and none in valid services.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { checksOf } from '../../src/kit/checks.ts';
import { reasonOf, textOf } from '../../src/kit/report.ts';
import { isWhole } from '../support/extent.ts';
import { EVIDENCE, FAULTS } from './faults.ts';
import { otherDecisions, otherForms, thirdDecisions } from './other-decisions.ts';
import { outcomesOf, type Rules } from './plain-service.ts';

const AFTER_REMOVAL_MS = Date.parse('2031-01-01T00:00:00Z');

/** The checks on which the removal of getPet has an effect; with --all, all of the interface. */
const REMOVAL_IDS = ['2/pet-carries', '3', '4', '4.2', '4.3', '5', '7', '9'];
const REMOVAL_CHECKS = checksOf('interface', isWhole ? [] : REMOVAL_IDS);

/** Resolves with the checks that do not hold, each with its kind. */
async function othersOf(
  t: TestContext,
  rules: Partial<Rules>,
  checks = checksOf('interface'),
): Promise<readonly string[]> {
  const outcomes = await outcomesOf(t, rules, checks);
  return outcomes.flatMap(({ check, kind }) => (kind === 'hold' ? [] : [`${check.id} ${kind}`]));
}

/** The decisions for which the plain service differs. */
const plainDiffers = new Set<string>();

test('The plain service passes every check, and those of faults at each level', async (t) => {
  const others = await othersOf(t, {}, checksOf('http'));
  for (const text of others) if (text.endsWith(' differ')) plainDiffers.add(text);
  const ids = ['2/status-null', '4.1/pages', '4.1/pages-address', '4.1/pages-filter'];
  const unseen = ['4.2/location', '9/removal', 'decisions/last-page', 'http/other-type-code'];
  const expected = [...ids, ...unseen].map((id) => `${id} not observed`);
  assert.deepEqual(
    others.filter((text) => !plainDiffers.has(text)),
    expected,
  );
  for (const title of Object.keys(FAULTS)) {
    assert.ok(!plainDiffers.has(`${checkOf(title)} differ`), title);
  }
});

for (const [name, rules] of Object.entries({ otherDecisions, thirdDecisions })) {
  test(`The valid service ${name} fails no check, before and after getPet is removed`, async (t) => {
    const removed = { ...rules, now: () => AFTER_REMOVAL_MS };
    const others = [await othersOf(t, rules), await othersOf(t, removed, REMOVAL_CHECKS)].flat();
    const failed = others.filter((text) => !text.endsWith('not observed'));
    assert.deepEqual(failed, []);
  });
}

test('In other forms the plain service fails no check, and differs in no other decision', async (t) => {
  const others = await othersOf(t, otherForms, checksOf('http'));
  const found = others.filter((text) => !text.endsWith('not observed') && !plainDiffers.has(text));
  assert.deepEqual(found, []);
});

for (const [title, rules] of Object.entries(FAULTS)) {
  test(`The kit finds a fault, and shows it: ${title}`, async (t) => {
    const [check] = checksOf('http', [checkOf(title)]);
    const [outcome] = await outcomesOf(t, rules, [check!]);
    assert.equal(outcome?.kind, check!.level === 'interface' ? 'fail' : 'differ');
    assert.match(textOf(outcome), EVIDENCE[title] ?? /^/);
    assert.equal(reasonOf(outcome).split(' | ').length, outcome.causes.length);
  });
}

function checkOf(title: string): string {
  return title.split(' ', 1)[0]!;
}
