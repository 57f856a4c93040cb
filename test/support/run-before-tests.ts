/**
 * Runs many cases before the first test begins, and lets a test report what came of them.
 *
 * As soon as a file has called `test`, node:test follows each promise, which takes a quarter of
 * the time of a simulation.
 */

/**
 * Runs `run` to its end. Returns what returns its value, or throws its error, as often as asked.
 */
export async function runBeforeTests<T>(run: () => Promise<T>): Promise<() => T> {
  const [settled] = await Promise.allSettled([run()]);
  return () => {
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  };
}
