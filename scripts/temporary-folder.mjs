/**
 * Temporary folders that end with the process, also by Ctrl+C or SIGTERM, and so do its children.
 * What a kill -9 leaves is removed by the next process: the folder's name has the id of its own.
 */

import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

/** @import { ChildProcess } from 'node:child_process' */

/** @type {Set<string>} */
const folders = new Set();
/** @type {Set<ChildProcess>} */
const children = new Set();

process.on('exit', () => {
  // First: one of them could make its folder again.
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) remove(folder);
});

/**
 * Calls `use` with a new folder, which is removed when the promise settles or the process ends.
 * @template T
 * @param {string} name
 * @param {string | undefined} parent The system's folder by default.
 * @param {(folder: string) => T | Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withTemporaryFolder(name, parent = realpathSync(tmpdir()), use) {
  // Without a folder, a signal ends the process at once, also in the middle of a long calculation.
  for (const signal of SIGNALS) process.on(signal, exit);
  removeOrphans(name, parent);
  const folder = mkdtempSync(join(parent, `petstore-${name}-${process.pid}-`));
  folders.add(folder);
  try {
    return await use(folder);
  } finally {
    folders.delete(folder);
    remove(folder);
    for (const signal of SIGNALS) process.off(signal, exit);
  }
}

/**
 * Returns the child process, which is killed when this process ends.
 * @template {ChildProcess} T
 * @param {T} child
 */
export function endingWithThis(child) {
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** @param {(typeof SIGNALS)[number]} signal */
function exit(signal) {
  // As a shell reports a process that a signal has ended.
  process.exit(128 + constants.signals[signal]);
}

/** @param {string} folder */
function remove(folder) {
  // A child that is being killed may still finish a call, and so add a file that was not listed.
  for (let tries = 1; ; tries += 1) {
    try {
      return rmSync(folder, { recursive: true, force: true, maxRetries: 1, retryDelay: 20 });
    } catch (error) {
      if (tries === 10) throw error;
    }
  }
}

/**
 * @param {string} name
 * @param {string} parent
 */
function removeOrphans(name, parent) {
  const pattern = new RegExp(`^petstore-${name}-([0-9]+)-`);
  for (const entry of readdirSync(parent)) {
    const pid = Number(pattern.exec(entry)?.[1] ?? process.pid);
    if (isRunning(pid)) continue;
    try {
      remove(join(parent, entry));
    } catch {
      // It belongs to another user.
    }
  }
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH';
  }
}
