/** Reads the result of one test from an event of Node's test runner, for the reporters. */

/** Returns undefined for an event that is not the end of a test. */
export function readResult({ type, data }) {
  const isResult = type === 'test:pass' || type === 'test:fail';
  if (!isResult || data.details.type === 'suite') return undefined;
  const mark = [data.skip, data.todo].find(isMarked);
  return {
    name: data.name,
    file: data.file,
    outcome: mark !== undefined ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed',
    reason: typeof mark === 'string' && mark !== '' ? mark : 'no reason is given',
    // The time of a nested test is part of the outer test's.
    seconds: data.nesting === 0 ? data.details.duration_ms / 1000 : 0,
    error: data.details.error?.cause ?? data.details.error,
  };
}

/** A mark is a reason, which may be empty, or true. */
function isMarked(mark) {
  return mark !== undefined && mark !== false;
}

/** Returns the first line of the error. */
export function causeOf({ error }) {
  return String(error?.message ?? error).split('\n', 1)[0];
}
