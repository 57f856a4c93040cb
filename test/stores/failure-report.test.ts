/** The lines that a lasting failure writes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FailureReport } from '../../src/stores/failure-report.ts';

test('A failure logs each cause once, though they alternate, and again after its end', () => {
  const lines: string[] = [];
  let seconds = 0;
  const report = new FailureReport(
    (_level, event, details) => lines.push([event, details?.['cause']].join(' ').trim()),
    { now: () => seconds * 1000 },
    'began',
    'ended',
  );
  for (const cause of ['a', 'b', 'a', 'b', 'a', undefined, 'a', undefined]) {
    report.record(cause);
    seconds += 1;
  }
  assert.deepEqual(lines, ['began a', 'began b', 'ended', 'began a', 'ended']);
});
