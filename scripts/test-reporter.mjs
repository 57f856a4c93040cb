/**
 * The output of npm test: that of Node's own reporter `spec`, without the tests that passed, and
 * with the name of each test file. So it shows what was skipped and why, what failed, what a file
 * noted (a seed, what was sent), and the sums.
 */

import { relative } from 'node:path';
import { spec } from 'node:test/reporters';

export default async function* report(events) {
  const reporter = new spec();
  let shown;
  for await (const event of events) {
    const { file = shown, skip } = event.data ?? {};
    // Files run side by side; their results come one file after the other.
    if (/start|enqueue|dequeue|complete/.test(event.type)) continue;
    if (file !== shown) yield `${relative('.build/test', file)}\n`;
    shown = file;
    if (event.type !== 'test:pass' || skip !== undefined) reporter.write(event);
    yield reporter.read() ?? '';
  }
  yield* reporter.end();
}
