/** A reporter for Node's test runner: at the end one line of JSON with the counts and failures. */

export default async function* report(events) {
  const result = { version: process.versions.node, passed: 0, failed: 0, skipped: 0, failures: [] };
  for await (const { type, data } of events) {
    const isResult = type === 'test:pass' || type === 'test:fail';
    if (!isResult || data.details.type === 'suite') continue;
    if (isMarked(data.skip) || isMarked(data.todo)) {
      result.skipped += 1;
    } else if (type === 'test:pass') {
      result.passed += 1;
    } else {
      result.failed += 1;
      result.failures.push({ name: data.name, file: data.file, cause: causeOf(data.details) });
    }
  }
  yield `${JSON.stringify(result)}\n`;
}

/** A mark is its reason, an empty one perhaps, or true. */
function isMarked(mark) {
  return mark !== undefined && mark !== false;
}

/** The first line of what went wrong. */
function causeOf({ error }) {
  const { message } = error?.cause ?? error ?? {};
  return String(message ?? error?.cause ?? error).split('\n', 1)[0];
}
