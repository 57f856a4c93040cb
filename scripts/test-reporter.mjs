/**
 * The output of npm test: that of Node's own reporter `spec`, without the tests that passed, and
 * with the name of each test file. So it shows what was skipped and why, what failed, what a file
 * with a failure noted (a seed, what was sent), and the sums.
 */

import { relative } from 'node:path';
import { spec } from 'node:test/reporters';

export default async function* report(events) {
  const reporter = new spec();
  let shown;
  let failed;
  for await (const event of events) {
    const { type, data: { file, skip } = {} } = event;
    // Files run side by side; their results come one file after the other.
    if (/start|enqueue|dequeue|complete/.test(type)) continue;
    // A test may be declared in a helper, which is no test file.
    if (file !== shown && /\.test\.[jt]s$/.test(file ?? '')) yield `${relative('test', file)}\n`;
    shown = file;
    if (type === 'test:fail') failed = file;
    const isNote = type === 'test:diagnostic' && file !== undefined && file !== failed;
    if (!isNote && (type !== 'test:pass' || skip !== undefined)) reporter.write(event);
    yield reporter.read() ?? '';
  }
  yield* reporter.end();
}
