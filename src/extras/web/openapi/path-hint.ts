/**
 * The hint in the 404 of an unknown path: the path that was probably meant, or the path that lists
 * all paths.
 *
 * It knows the slips that people make: a missing or repeated base (`/pets`, `/v1/v1/pets`), a slash
 * at the end, another case (`/V1/Pets/`), or below the right base the singular (`/v1/pet`). Other
 * misspelt names get no suggestion, so a hint costs a few comparisons, whatever a client sends. If
 * the listener is mounted at a path with which no known path begins, no path can match, and the
 * message says so.
 */

import type { IncomingMessage } from 'node:http';
import { BASE_PATH } from '../../../core/api/operations.ts';
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
    const isShort = path.length <= MAX_PATH_LENGTH;
    const asked = isShort ? segmentsOf(path) : [];
    const meant = isShort
      ? known.find(({ base, names }) => isMeant(asked, base, names))
      : undefined;
    const isBelow = `${path}/`.startsWith(`${prefix}/`);
    const outside = isBelow ? '' : `: every path begins with ${prefix}/`;
    if (meant !== undefined) {
      const { base, names } = meant;
      const filled = names.map((name, at) => {
        return isParameter(name) ? asked.at(at - names.length)! : name;
      });
      // The path of the page has no name, only a slash after the prefix.
      const better = ['', ...base, ...(names.length === 0 ? [''] : filled)].join('/');
      return `${outside}, did you mean ${cut(better)}?`;
    }
    return outside === '' ? `: ${listPath} lists all paths` : outside;
  };
}

/** True if the segments end with the names, of which one may be in the singular below the base. */
function isMeant(
  asked: readonly string[],
  base: readonly string[],
  names: readonly string[],
): boolean {
  const start = asked.length - names.length;
  if (start < 0) return false;
  const before = asked.slice(0, start);
  const hasBase =
    before.length === base.length && before.every((one, at) => isSame(one, base[at]!));
  if (names.length === 0) return hasBase;
  return names.every((name, at) => {
    const given = asked[start + at]!;
    return isParameter(name) || isSame(given, name) || (hasBase && isSame(`${given}s`, name));
  });
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
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

function isParameter(segment: string): boolean {
  return segment.startsWith('{');
}
