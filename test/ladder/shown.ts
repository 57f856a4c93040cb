/** The steps and ends of a life in words, as `npm run ladder -- show NAME` prints them. */

import { basename } from 'node:path';
import type { DiskCall } from '../support/disk/intercept.ts';
import { FOLDER, type DiskImage } from '../simulation/disk-image.ts';

/** Returns what a call does to a path, or undefined for one that changes nothing. */
export function describeCall(
  operation: DiskCall['operation'],
  path: string,
  args: readonly unknown[],
): string | undefined {
  const name = basename(path);
  const [first, second] = args;
  if (operation === 'open') return second === 'create' ? `create ${name}` : undefined;
  if (operation === 'write' || operation === 'writeNow') {
    return `write ${(first as Buffer).length} bytes to ${name} at ${String(second)}`;
  }
  const others: Partial<Record<typeof operation, string>> = {
    truncate: `cut ${name} at ${String(first)}`,
    sync: `sync ${name}`,
    syncDirectory: `sync the folder ${path}`,
    rename: `rename ${name} to ${basename(String(second))}`,
    link: `link ${name} to ${basename(String(second))}`,
    remove: `remove ${name}`,
  };
  return others[operation];
}

/** Returns what a machine's end has left, where that differs from what the processes saw. */
export function describeEnd(how: string, before: DiskImage, after: DiskImage): string {
  const end = how === 'kill -9' ? 'the process is killed' : 'the power fails';
  const paths = [...new Set([...before.names.keys(), ...after.names.keys()])].sort();
  const differences = paths.flatMap((path) => differencesAt(path, before, after));
  return differences.length === 0 ? end : `${end}; on the disk ${differences.join(', and ')}`;
}

function differencesAt(path: string, before: DiskImage, after: DiskImage): readonly string[] {
  const name = basename(path);
  const wasId = before.names.get(path);
  const isId = after.names.get(path);
  if (isId === undefined) return [`there is no ${name}`];
  if (isId === FOLDER) return [];
  const is = after.files.get(isId)!.cached;
  const was = wasId === undefined ? undefined : before.files.get(wasId)?.cached;
  if (was === undefined) return [`${name} is still there, with ${is.length} bytes`];
  return is.equals(was) ? [] : [`${name} has ${describeContent(is, was)}`];
}

function describeContent(is: Buffer, was: Buffer): string {
  const zeros = is.filter((byte) => byte === 0).length;
  if (is.length === was.length && zeros > 0) return `${zeros} zeros among its ${is.length} bytes`;
  if (is.length > 0 && was.subarray(0, is.length).equals(is)) {
    return `the first ${is.length} of its ${was.length} bytes`;
  }
  const others = zeros > 0 ? `, ${zeros} of them zeros` : '';
  return `${is.length} bytes${others}, instead of ${was.length}`;
}

/** Returns a pet's text, shortened. */
export function shownPet(text: string): string {
  return text.replace(/\.{4,}/, '…');
}

export function firstLineOf(error: unknown): string {
  return String((error as Error).message).split('\n')[0]!;
}
