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
  const known = operations.map(({ path }) => ({
    path: `${prefix}${path}`,
    slips: new RegExp(`^(?:${slipsOf(path, prefix)})$`, 'i'),
  }));
  return (path, request) => {
    const { url = '' } = request;
    const target = targetOf(request);
    // The path that the embedding program has removed from the target.
    const mount = url !== '' && target.endsWith(url) ? target.slice(0, -url.length) : '';
    // A mount may ignore case, as in Express. With a mount at /v1, the prefix may be empty.
    const mountedAt = `${mount}/`.toLowerCase();
    if (!known.some((one) => `${one.path}/`.toLowerCase().startsWith(mountedAt))) {
      return `: the listener is mounted at ${cut(mount)}, and its prefix must begin with that`;
    }
    const isBelow = `${path}/`.startsWith(`${prefix}/`);
    const outside = isBelow ? '' : `: every path begins with ${prefix}/`;
    // Without a slash at its end, and without empty segments.
    const asked = path.slice(0, MAX_PATH_LENGTH + 1).replace(/\/+(?=\/|$)/g, '') || '/';
    const meant = known.find(({ slips }) => slips.test(asked));
    if (meant === undefined || path.length > MAX_PATH_LENGTH) {
      return outside || `: ${listPath} lists all paths`;
    }
    const better = meant.path.replace(/\{.*/, () => asked.replace(/.*\//, ''));
    return `${outside}, did you mean ${cut(better)}?`;
  };
}

/** Returns the pattern of the paths with which a person may mean this one. */
function slipsOf(path: string, prefix: string): string {
  const start = prefix.replaceAll('.', '\\.');
  // The path of the page has no name.
  if (path === '/') return `${start}/?`;
  const base = path.startsWith(`${BASE_PATH}/`) ? BASE_PATH : '';
  const names = path.slice(base.length).replaceAll('.', '\\.').replace(/\{.*/, '[^/]+');
  return `.*${names}|${start}${base}${names.replace(/s(?=\/|$)/g, 's?')}`;
}
