/** How many connections the process can serve at a time: each is one of its descriptors. */

import { readdirSync, readFileSync } from 'node:fs';
import type { Logger } from '../core/base/logger.ts';
import { LIMITS } from '../core/http/limits.ts';

/** For data files, modules, etcd and the command flock. */
const OWN_DESCRIPTORS = 64;

/** Returns the most connections, and logs if they are fewer than the limit. */
export function connectionsThatFit(logger: Logger): number {
  const { maxConnections } = LIMITS;
  const { descriptors, open } = readDescriptors();
  const connections = Math.max(1, Math.min(maxConnections, descriptors - open - OWN_DESCRIPTORS));
  if (connections < maxConnections) {
    const event = 'Serves fewer connections at a time, since the process may open few files';
    logger('warn', event, { connections, descriptors });
  }
  return connections;
}

/** Returns how many descriptors the process may have, if Linux says so, and how many it has. */
function readDescriptors(): { readonly descriptors: number; readonly open: number } {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const [, most = Infinity] = /^Max open files +([0-9]+) /m.exec(limits) ?? [];
    // The list has the descriptor that reads it.
    return { descriptors: Number(most), open: readdirSync('/proc/self/fd').length - 1 };
  } catch {
    return { descriptors: Infinity, open: 0 };
  }
}
