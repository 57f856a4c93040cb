/** What a script is at, for a person who waits. */

/** Without a terminal, as in a log, lines are sparse. */
const QUIET_MS = 10_000;
/** The start of the process. */
let lastAt = 0;

/**
 * Shows a text on a terminal until the next one; an empty text clears the line. Without a terminal
 * it prints lines, at most one in this time.
 * @param {string} text
 */
export function progress(text, quietMs = QUIET_MS) {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\x1b[K${text}`);
  } else if (text !== '' && performance.now() - lastAt >= quietMs) {
    lastAt = performance.now();
    process.stderr.write(`${text}\n`);
  }
}
