/** A reporter for Node's test runner: at the end one line of JSON with the counts and failures. */

export default async function* report(events) {
  const result = { version: process.versions.node, passed: 0, failed: 0, skipped: 0, failures: [] };
  for await (const { type, data } of events) {
    const isResult = type === 'test:pass' || type === 'test:fail';
    if (!isResult || data.details.type === 'suite') continue;
    if (data.skip !== undefined && data.skip !== false) {
      result.skipped += 1;
    } else if (type === 'test:pass' || (data.todo !== undefined && data.todo !== false)) {
      result.passed += 1;
    } else {
      result.failed += 1;
      result.failures.push({ name: data.name, file: data.file, cause: causeOf(data.details) });
    }
  }
  yield `${JSON.stringify(result)}\n`;
}

/** The first line of what went wrong. */
function causeOf({ error }) {
  const { message } = error?.cause ?? error ?? {};
  return String(message ?? error?.cause ?? error).split('\n', 1)[0];
}
