/**
 * The hint in the 404 of an unknown path: a similar path, or the path that lists all paths.
 *
 * A hint corrects one mistake, not two: a wrong base before the right name (`/pets`, `/v1/v1/pets`,
 * `/V1/Pets/`), or a misspelt name after the right base (`/v1/pet`). With two corrections
 * `/v1/dogs` would lead to `/docs`. If the listener is mounted at a path with which no known path
 * begins, no path can match, and the message says so.
 */

import { edits } from '../../base/nearest.ts';
import { cut } from '../../base/quote.ts';
import { normalizePath } from '../../http/router.ts';

/** The longest path that gets a suggestion, which bounds the cost. */
const MAX_PATH_LENGTH = 200;

export interface KnownPaths {
  /** A router's patterns. All begin with the prefix, and some with the protected path. */
  readonly patterns: readonly string[];
  readonly prefix: string;
  readonly protectedPath: string;
  /** The path that lists all paths. */
  readonly listPath: string;
}

/** Returns a function that makes hints: the text after "Unknown path X" in the message. */
export function createPathHint(paths: KnownPaths): (path: string, mount?: string) => string {
  const { prefix, protectedPath, listPath } = paths;
  const known = paths.patterns.map((pattern) => {
    const base = segmentsOf(pattern.startsWith(`${protectedPath}/`) ? protectedPath : prefix);
    return { base, names: segmentsOf(pattern).slice(base.length) };
  });
  const lowercase = paths.patterns.map((pattern) => pattern.toLowerCase());
  return (path, mount = '') => {
    // A mount may ignore case, as in Express. With a mount at /v1, the prefix may be empty.
    const mountedAt = `${mount.toLowerCase()}/`;
    if (!lowercase.some((pattern) => `${pattern}/`.startsWith(mountedAt))) {
      return `: the listener is mounted at ${cut(mount)}, and its prefix must begin with that`;
    }
    const normalized = normalizePath(path);
    const isBelow = `${normalized}/`.startsWith(`${prefix}/`);
    const asked = segmentsOf(normalized);
    let [best, bestEdits] = ['', Infinity];
    for (const { base, names } of path.length > MAX_PATH_LENGTH ? [] : known) {
      const found = compare(asked, base, names);
      if (found >= bestEdits) continue;
      const sent = asked.slice(-names.length);
      const filled = names.map((name, index) => (isParameter(name) ? sent[index]! : name));
      // The path of the page has no name, only a slash after the prefix.
      const path = ['', ...base, ...(names.length === 0 ? [''] : filled)].join('/');
      [best, bestEdits] = [path, found];
    }
    const outside = isBelow ? '' : `: every path begins with ${prefix}/`;
    if (best !== '') return `${outside}, did you mean ${cut(best)}?`;
    return outside === '' ? `: ${listPath} lists all paths` : outside;
  };
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '');
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}

/** Returns how many letters of the names are wrong, or Infinity if it is not a single mistake. */
function compare(
  asked: readonly string[],
  base: readonly string[],
  names: readonly string[],
): number {
  if (asked.length < names.length) return Infinity;
  const start = asked.length - names.length;
  const hasBase = asked.slice(0, start).join('/').toLowerCase() === base.join('/').toLowerCase();
  if (names.length === 0 && !hasBase) return Infinity;
  let sum = 0;
  for (const [index, name] of names.entries()) {
    if (isParameter(name)) continue;
    const [sent, limit] = [asked[start + index]!.toLowerCase(), Math.ceil(name.length / 4)];
    if (Math.abs(sent.length - name.length) > limit) return Infinity;
    const wrong = edits(sent, name.toLowerCase());
    if (wrong > (hasBase ? limit : 0)) return Infinity;
    sum += wrong;
  }
  return sum;
}
