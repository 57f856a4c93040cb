/**
 * The hint in the 404 of an unknown path: a similar path, or the path that lists all paths.
 *
 * A hint corrects one mistake, not two: a wrong base before the right name (`/pets`, `/v1/v1/pets`,
 * `/V1/Pets/`), or a misspelt name after the right base (`/v1/pet`). With two corrections
 * `/v1/dogs` would lead to `/docs`. If the listener is mounted at a path with which no known path
 * begins, no path can match, and the message says so.
 */

import type { IncomingMessage } from 'node:http';
import { BASE_PATH } from '../../../core/api/operations.ts';
import { edits } from '../../../process/nearest.ts';
import { cut } from '../../../core/base/quote.ts';
import type { Operation } from '../../../core/http/operation.ts';
import { targetOf } from '../../../core/http/target.ts';

/** The longest path that gets a suggestion, which bounds the cost. */
const MAX_PATH_LENGTH = 200;

/**
 * Returns a function that makes hints: the text after "Unknown path X" in the message. `listPath`
 * is the path that lists all paths.
 */
export function createPathHint(
  operations: readonly Operation[],
  prefix: string,
  listPath: string,
): (path: string, request: IncomingMessage) => string {
  const patterns = operations.map(({ path }) => `${prefix}${path}`);
  const protectedPath = `${prefix}${BASE_PATH}`;
  const known = patterns.map((pattern) => {
    const base = segmentsOf(pattern.startsWith(`${protectedPath}/`) ? protectedPath : prefix);
    return { base, names: segmentsOf(pattern).slice(base.length) };
  });
  return (path, request) => {
    const mount = mountOf(request);
    // A mount may ignore case, as in Express. With a mount at /v1, the prefix may be empty.
    const mountedAt = `${mount}/`.toLowerCase();
    if (!patterns.some((pattern) => `${pattern}/`.toLowerCase().startsWith(mountedAt))) {
      return `: the listener is mounted at ${cut(mount)}, and its prefix must begin with that`;
    }
    const asked = segmentsOf(path);
    let [best, fewest] = ['', Infinity];
    for (const { base, names } of path.length > MAX_PATH_LENGTH ? [] : known) {
      const start = asked.length - names.length;
      const hasBase = isSame(asked.slice(0, Math.max(0, start)), base);
      if (start < 0 || (names.length === 0 && !hasBase)) continue;
      const filled = names.map((name, at) => (isParameter(name) ? asked[start + at]! : name));
      const wrong = misspelt(asked.slice(start), filled);
      const letters = names.filter((name) => !isParameter(name)).join('').length;
      if (wrong > (hasBase ? Math.ceil(letters / 4) : 0) || wrong >= fewest) continue;
      // The path of the page has no name, only a slash after the prefix.
      [best, fewest] = [['', ...base, ...(names.length === 0 ? [''] : filled)].join('/'), wrong];
    }
    const isBelow = `${path}/`.startsWith(`${prefix}/`);
    const outside = isBelow ? '' : `: every path begins with ${prefix}/`;
    if (best !== '') return `${outside}, did you mean ${cut(best)}?`;
    return outside === '' ? `: ${listPath} lists all paths` : outside;
  };
}

/** Returns the path that the embedding program has removed from the target, or ''. */
function mountOf(request: IncomingMessage): string {
  const { url = '' } = request;
  const target = targetOf(request);
  return url !== '' && target.endsWith(url) ? target.slice(0, -url.length) : '';
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

const isParameter = (segment: string): boolean => segment.startsWith('{');
const isSame = (a: readonly string[], b: readonly string[]): boolean => misspelt(a, b) === 0;

/** Returns how many letters are wrong, whatever their case. */
function misspelt(asked: readonly string[], wanted: readonly string[]): number {
  return edits(asked.join('/').toLowerCase(), wanted.join('/').toLowerCase());
}
