/**
 * Records what a store changes below one folder, and makes calls fail.
 *
 * It replaces functions of the binding that all of node:fs calls: so it sees the synchronous
 * functions, those with a callback, promises, file handles and streams, however they are imported.
 * The binding is deprecated, and there in Node 20, 22, 24 and 26. What it cannot see (child
 * processes, worker threads, `copyFile`) it reports: `compare` looks for changes that no call
 * explains.
 */

import fs from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadDiskImage, loadSimulatedDisk } from '../ladder/built.mjs';

/** @import { DiskImage } from '../../test/simulation/disk-image.ts' */

/**
 * The disk after a change of the folder, or at a note of the life, and what was begun and
 * acknowledged by then: the ids of items. The folder is the root of the disk.
 * @typedef {object} RecordedMoment
 * @property {DiskImage} image
 * @property {string} text what was done, in words
 * @property {string | undefined} note if nothing was done
 * @property {readonly string[]} begun
 * @property {readonly string[]} acknowledged
 */

/**
 * How a call fails: the write or the sync with this number, counted from 0. A disk that is full
 * writes a half first. It has room again after two writes, or only after the process has ended.
 * @typedef {{
 *   kind: 'short write' | 'failed write' | 'full disk' | 'full, then room' | 'failed sync',
 *   at: number,
 * }} Failure
 */

/**
 * An open file, by its number on the disk, or an open folder.
 * @typedef {{ id: number, path: string, position: number, isAppended: boolean, isSynced: boolean }}
 *   Opened
 */

/**
 * A call of the binding: what is done when it has succeeded, with its result.
 * @typedef {((result: any) => void) | undefined} After
 */

const NOT_KNOWN = ['symlink', 'copyFile', 'rmSync', 'cpSyncCopyDir', 'cpSyncOverrideFile'];

/**
 * @param {string} root The folder, which is empty.
 * @param {Failure | undefined} failure
 */
export async function startRecording(root, failure) {
  const disk = await loadDiskImage();
  const { wholeSectors } = await loadSimulatedDisk();
  const { O_APPEND, O_CREAT, O_DSYNC, O_TRUNC } = fs.constants;
  /** @type {any} */
  const binding = /** @type {any} */ (process).binding('fs');
  let image = disk.EMPTY_DISK;
  /** @type {RecordedMoment[]} */
  const moments = [];
  /** @type {readonly string[]} */
  let begun = [];
  /** @type {readonly string[]} */
  let acknowledged = [];
  /** @type {Set<string>} */
  const unknown = new Set();
  /** @type {Map<number, Opened>} */
  const open = new Map();
  const counts = { writes: 0, syncs: 0 };
  let inFlight = 0;

  /**
   * @param {string} text
   * @param {DiskImage} changed
   * @param {string} [note]
   */
  const keep = (text, changed = image, note) => {
    image = changed;
    moments.push({ image, text, note, begun, acknowledged });
  };
  /**
   * @param {string} what
   * @param {number} [item]
   */
  const note = (what, item) => {
    if (what === 'add') begun = [...begun, `${item}`];
    if (what === 'acknowledged') acknowledged = [...acknowledged, `${item}`];
    keep(item === undefined ? what : `${what}: item ${item}`, image, what);
  };
  /**
   * Returns the path on the disk, or undefined outside the folder.
   * @param {unknown} path
   */
  const pathOf = (path) => {
    const name = relative(root, resolve(String(path)));
    return name.startsWith('..') ? undefined : `/${name}`;
  };
  /** @param {string} path */
  const idAt = (path) => (path === '/' ? disk.FOLDER : image.names.get(path));
  /** @param {number} id */
  const nameOf = (id) =>
    [...image.names].find(([, other]) => other === id)?.[0].slice(1) ?? 'a file without a name';
  /** @param {number} id */
  const contentOf = (id) => image.files.get(id)?.cached ?? Buffer.alloc(0);
  /** @param {unknown} position */
  const isPlaced = (position) =>
    typeof position === 'bigint' || (typeof position === 'number' && position >= 0);
  /**
   * Where a write begins.
   * @param {Opened} target
   * @param {unknown} position
   */
  const positionOf = ({ id, position: current, isAppended }, position) => {
    if (isAppended) return contentOf(id).length;
    return isPlaced(position) ? Number(position) : current;
  };
  /**
   * @param {'ENOSPC' | 'EIO'} code
   * @param {string} syscall
   * @returns {never}
   */
  const fail = (code, syscall) => {
    keep(`${syscall} fails: ${code}`);
    const errno = code === 'ENOSPC' ? -28 : -5;
    const error = new Error(`${code}: the judge lets it fail, ${syscall}`);
    throw Object.assign(error, { code, errno, syscall });
  };
  /**
   * Returns how many bytes this write may write.
   * @param {Opened} target
   * @param {number} length
   * @param {unknown} position
   */
  const allowed = (target, length, position) => {
    const since = failure === undefined ? -1 : counts.writes - failure.at;
    counts.writes += 1;
    if (failure === undefined || failure.kind === 'failed sync' || since < 0) return length;
    if (failure.kind === 'failed write') return since === 0 ? fail('EIO', 'write') : length;
    const isFull = failure.kind === 'full disk' || (failure.kind !== 'short write' && since === 1);
    if (since > 0) return isFull ? fail('ENOSPC', 'write') : length;
    const at = positionOf(target, position);
    const count = wholeSectors(at, Math.ceil(length / 2), contentOf(target.id).length);
    return count > 0 ? count : fail('ENOSPC', 'write');
  };
  /**
   * @param {Opened} target
   * @param {boolean} isFailed
   */
  const noteSync = ({ id, path }, isFailed) => {
    if (id === disk.FOLDER) {
      keep('sync the folder', (isFailed ? disk.failSyncNames : disk.syncNames)(image, path));
    } else {
      keep(`sync ${nameOf(id)}`, (isFailed ? disk.failSyncFile : disk.syncFile)(image, id));
    }
  };
  /** @type {(args: any[]) => After} */
  const opened = (args) => (result) => {
    const [path, flags] = [pathOf(args[0]), args[1]];
    const descriptor = result.fd ?? result;
    open.delete(descriptor);
    if (path === undefined) return;
    if (idAt(path) === undefined && flags & O_CREAT) {
      keep(`create ${path.slice(1)}`, disk.createFile(image, path, 0o600));
    }
    const id = idAt(path);
    if (id === undefined) return;
    if (flags & O_TRUNC && contentOf(id).length > 0) {
      keep(`cut ${path.slice(1)} at 0`, disk.changeFile(image, id, 0));
    }
    const isAppended = (flags & O_APPEND) !== 0;
    const isSynced = (flags & O_DSYNC) !== 0;
    open.set(descriptor, { id, path, position: 0, isAppended, isSynced });
  };
  /** @type {(args: any[]) => After} */
  const synced = ([descriptor]) => {
    const target = open.get(descriptor);
    if (target === undefined) return undefined;
    const isFailing = failure?.kind === 'failed sync' && counts.syncs === failure.at;
    counts.syncs += 1;
    if (!isFailing) return () => noteSync(target, false);
    noteSync(target, true);
    return fail('EIO', 'fsync');
  };
  /** @type {(args: any[]) => After} */
  const removed = ([given]) => {
    const path = pathOf(given);
    if (path === undefined) return undefined;
    return () => keep(`remove ${path.slice(1)}`, disk.changeNames(image, [[path, undefined]]));
  };
  /** @param {string | undefined} path */
  const makeFolder = (path) => {
    if (path === undefined || idAt(path) !== undefined) return;
    makeFolder(dirname(path));
    keep(`make the folder ${path.slice(1)}`, disk.changeNames(image, [[path, disk.FOLDER]]));
  };
  /**
   * @param {'rename' | 'link'} op
   * @returns {(args: any[]) => After}
   */
  const named = (op) => (args) => {
    const [from, to] = [pathOf(args[0]), pathOf(args[1])];
    if (from === undefined && to === undefined) return undefined;
    return () => {
      const id = image.names.get(from ?? '');
      if (from === undefined || to === undefined || id === undefined || id === disk.FOLDER) {
        unknown.add(`${op} of a folder, or out of the store's folder: ${args[0]}, ${args[1]}`);
        return;
      }
      /** @type {[path: string, file: number | undefined][]} */
      const names = [[to, id]];
      if (op === 'rename') names.unshift([from, undefined]);
      keep(`${op} ${from.slice(1)} to ${to.slice(1)}`, disk.changeNames(image, names));
    };
  };
  /**
   * @param {string} call
   * @returns {(args: any[]) => After}
   */
  const refused = (call) => (args) => {
    const paths = args.slice(0, 2).filter((arg) => typeof arg === 'string');
    if (paths.every((path) => pathOf(path) === undefined)) return undefined;
    unknown.add(`The recorder does not know the call ${call}`);
    throw new Error(`The judge's recorder does not know the call ${call}`);
  };

  /**
   * By function: looks at the arguments, which it may change, or throws.
   * @type {Record<string, (args: any[]) => After>}
   */
  const calls = {
    open: opened,
    openFileHandle: opened,
    writeBuffer(args) {
      const [descriptor, data, offset, length, position] = args;
      const target = open.get(descriptor);
      if (target === undefined) return undefined;
      args[3] = allowed(target, length, position);
      const all = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      const bytes = Buffer.from(all.subarray(offset, offset + args[3]));
      return (count) => {
        const at = positionOf(target, position);
        if (!isPlaced(position)) target.position = at + count;
        const part = length > count ? `: is made in part, ${count} bytes` : '';
        const changed = disk.changeFile(image, target.id, at, bytes.subarray(0, count));
        keep(`write ${length} bytes to ${nameOf(target.id)} at ${at}${part}`, changed);
        if (target.isSynced) noteSync(target, false);
      };
    },
    ftruncate([descriptor, size = 0]) {
      const id = open.get(descriptor)?.id;
      if (id === undefined) return undefined;
      return () => keep(`cut ${nameOf(id)} at ${size}`, disk.changeFile(image, id, size));
    },
    fsync: synced,
    fdatasync: synced,
    rename: named('rename'),
    link: named('link'),
    unlink: removed,
    rmdir: removed,
    mkdir: (args) => () => makeFolder(pathOf(args[0])),
    mkdtemp: () => (path) => makeFolder(pathOf(path)),
    ...Object.fromEntries(NOT_KNOWN.map((call) => [call, refused(call)])),
  };

  for (const [name, prepare] of Object.entries(calls)) {
    const original = binding[name];
    if (original === undefined) continue;
    /** @type {(...args: any[]) => unknown} */
    binding[name] = (...args) => callRecorded(original, prepare, args);
  }
  // A string that is written at once would hide its bytes, and so would several buffers.
  /** @type {(...args: any[]) => unknown} */
  binding.writeString = (descriptor, text, position, encoding, ...rest) => {
    const bytes = Buffer.from(text, encoding);
    return binding.writeBuffer(descriptor, bytes, 0, bytes.length, position, ...rest);
  };
  /** @type {(...args: any[]) => unknown} */
  binding.writeBuffers = (descriptor, chunks, ...rest) => {
    const bytes = Buffer.concat(chunks);
    return binding.writeBuffer(descriptor, bytes, 0, bytes.length, ...rest);
  };
  /** @type {(path: string | number, text: string, flags: number, mode: number) => void} */
  binding.writeFileUtf8 = (path, text, flags, mode) => {
    const bytes = Buffer.from(text);
    const descriptor = typeof path === 'number' ? path : fs.openSync(path, flags, mode);
    try {
      for (let at = 0; at < bytes.length;) at += fs.writeSync(descriptor, bytes, at);
    } finally {
      if (descriptor !== path) fs.closeSync(descriptor);
    }
  };

  /**
   * Makes a call of the binding, with `prepare` before it. It is called in one of three ways: with
   * a request that has a callback, with a mark for a promise, or neither.
   * @param {(...args: any[]) => any} original
   * @param {(args: any[]) => After} prepare
   * @param {any[]} args
   */
  function callRecorded(original, prepare, args) {
    const request = args.find((arg) => arg instanceof binding.FSReqCallback);
    const isPromise = args.includes(binding.kUsePromises);
    /** @type {After} */
    let after;
    try {
      after = prepare(args);
    } catch (error) {
      if (isPromise) return Promise.reject(error);
      if (request === undefined) throw error;
      setImmediate(() => request.oncomplete(error));
      return undefined;
    }
    if (isPromise) {
      inFlight += 1;
      const result = original(...args).then((/** @type {any} */ value) => {
        after?.(value);
        return value;
      });
      return result.finally(() => (inFlight -= 1));
    }
    if (request !== undefined) {
      const { oncomplete } = request;
      inFlight += 1;
      /** @type {(error: unknown, ...results: any[]) => unknown} */
      request.oncomplete = (error, ...results) => {
        inFlight -= 1;
        if (!error) after?.(results[0]);
        return oncomplete.call(request, error, ...results);
      };
      return original(...args);
    }
    const result = original(...args);
    // Node 20 returns the error of some synchronous calls in their last argument.
    if (args.at(-1)?.errno === undefined) after?.(result);
    return result;
  }

  /** Reports each difference between the folder and the image, once no call is in progress. */
  async function compare() {
    for (let tries = 0; inFlight > 0 && tries < 50; tries += 1) await sleep(2);
    const seen = fs.readdirSync(root, { recursive: true, encoding: 'utf8' });
    for (const name of seen) {
      const id = idAt(`/${name}`);
      const isFile = fs.lstatSync(join(root, name)).isFile();
      if (id === undefined || isFile !== (id !== disk.FOLDER)) {
        unknown.add(`A call that was not recorded made ${name}`);
      } else if (isFile && !fs.readFileSync(join(root, name)).equals(contentOf(id))) {
        unknown.add(`A call that was not recorded changed ${name}`);
      }
    }
    for (const path of image.names.keys()) {
      const name = path.slice(1);
      if (!seen.includes(name)) unknown.add(`A call that was not recorded removed ${name}`);
    }
  }

  return { moments, unknown, counts, compare, note };
}
