/** The report of a long run. What a whole report has is in command.test.ts. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import report from '../../src/kit/report.ts';

test('The report prints its progress every two seconds, and then the counts', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  async function* events(): AsyncGenerator<TestEvent> {
    for (const id of ['2/a', '2/b', '2/c', '2/d']) {
      t.mock.timers.tick(1000);
      const data = { name: `${id} A sentence`, nesting: 1 };
      yield { type: 'test:pass', data } as TestEvent;
    }
  }
  const lines: string[] = [];
  for await (const text of report(events())) lines.push(text);
  const progress = ['  Checks done: 2, last: 2/b\n', '  Checks done: 4, last: 2/d\n'];
  assert.deepEqual(lines, [...progress, '\n4 hold; 0 fail; 0 not observed\n']);
});
