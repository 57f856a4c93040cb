/**
 * Records what a store changes below one folder, and makes calls fail.
 *
 * It replaces functions of the binding that all of node:fs calls: so it sees the synchronous
 * functions, those with a callback, promises, file handles and streams, however they are imported.
 * The binding is deprecated, and there in Node 20, 22, 24 and 26. What it cannot see (child
 * processes, worker threads, `copyFile`) it reports: `compare` looks for changes that no step
 * explains.
 */

import fs from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A change of the folder, by the paths in it and the numbers of its files; or a note of the life.
 * @typedef {{ op: 'create', name: string, file: number }
 *   | { op: 'mkdir', name: string }
 *   | { op: 'remove', name: string }
 *   | { op: 'rename', from: string, name: string }
 *   | { op: 'link', from: string, name: string }
 *   | { op: 'write', file: number, at: number, bytes: Uint8Array, asked: number }
 *   | { op: 'truncate', file: number, size: number }
 *   | { op: 'sync', file: number, isFailed: boolean }
 *   | { op: 'sync folder', name: string, isFailed: boolean }
 *   | { op: 'failure', what: string }
 *   | { op: 'note', what: string, item?: number | undefined }} Step
 */

/**
 * How a call fails: the write or the sync with this number, counted from 0. A disk that is full
 * writes a half first. It has room again after two writes, or only after the process has ended.
 * @typedef {{
 *   kind: 'short write' | 'failed write' | 'full disk' | 'full, then room' | 'failed sync',
 *   at: number,
 * }} Failure
 */

/** @typedef {{ id: number, bytes: Buffer }} File */
/** @typedef {{ file: File, position: number, isAppended: boolean, isSynced: boolean }} OpenFile */
/** @typedef {{ folder: string }} OpenFolder */

/**
 * A call of the binding: what is done when it has succeeded, with its result.
 * @typedef {((result: any) => void) | undefined} After
 */

/** A disk writes a sector as a whole. */
const SECTOR_BYTES = 512;

const NOT_KNOWN = ['symlink', 'copyFile', 'rmSync', 'cpSyncCopyDir', 'cpSyncOverrideFile'];

/**
 * @param {string} root The folder, which is empty.
 * @param {Failure | undefined} failure
 */
export function startRecording(root, failure) {
  const { O_APPEND, O_CREAT, O_DSYNC, O_TRUNC } = fs.constants;
  /** @type {any} */
  const binding = /** @type {any} */ (process).binding('fs');
  /** @type {Step[]} */
  const steps = [];
  /** @type {Set<string>} */
  const unknown = new Set();
  /** @type {Map<string, File | 'folder'>} */
  const names = new Map([['', 'folder']]);
  /** @type {Map<number, OpenFile | OpenFolder>} */
  const open = new Map();
  const counts = { writes: 0, syncs: 0 };
  let files = 0;
  let inFlight = 0;

  /** @param {unknown} path */
  const nameOf = (path) => {
    const name = relative(root, resolve(String(path)));
    return name.startsWith('..') ? undefined : name;
  };
  /**
   * @param {'ENOSPC' | 'EIO'} code
   * @param {string} syscall
   * @returns {never}
   */
  const fail = (code, syscall) => {
    steps.push({ op: 'failure', what: `${syscall} fails: ${code}` });
    const errno = code === 'ENOSPC' ? -28 : -5;
    throw Object.assign(new Error(`${code}: the judge lets it fail, ${syscall}`), {
      ...{ code, errno, syscall },
    });
  };
  /**
   * Returns how many bytes this write may write. A short one leaves a sector of old content whole.
   * @param {OpenFile} target
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
    const end = at + Math.ceil(length / 2);
    const isSplit = end < target.file.bytes.length && end % SECTOR_BYTES !== 0;
    const count = isSplit ? end - (end % SECTOR_BYTES) - at : end - at;
    return count > 0 ? count : fail('ENOSPC', 'write');
  };
  /**
   * @param {OpenFile} target
   * @param {Buffer} bytes
   * @param {number} asked How many bytes the store wanted to write.
   * @param {unknown} position
   */
  const noteWrite = (target, bytes, asked, position) => {
    const { file } = target;
    const at = positionOf(target, position);
    if (!isPlaced(position)) target.position = at + bytes.length;
    const content = Buffer.alloc(Math.max(file.bytes.length, at + bytes.length));
    file.bytes.copy(content);
    bytes.copy(content, at);
    file.bytes = content;
    steps.push({ op: 'write', file: file.id, at, bytes, asked });
    if (target.isSynced) steps.push({ op: 'sync', file: file.id, isFailed: false });
  };
  /** @type {(args: any[]) => After} */
  const opened = ([path, flags]) => {
    return (result) => {
      const name = nameOf(path);
      const descriptor = result.fd ?? result;
      open.delete(descriptor);
      if (name === undefined) return;
      let file = names.get(name);
      if (file === 'folder') {
        open.set(descriptor, { folder: name });
        return;
      }
      if (file === undefined && flags & O_CREAT) {
        file = { id: files, bytes: Buffer.alloc(0) };
        files += 1;
        names.set(name, file);
        steps.push({ op: 'create', name, file: file.id });
      }
      if (file === undefined) return;
      if (flags & O_TRUNC && file.bytes.length > 0) {
        file.bytes = Buffer.alloc(0);
        steps.push({ op: 'truncate', file: file.id, size: 0 });
      }
      const isAppended = (flags & O_APPEND) !== 0;
      open.set(descriptor, { file, position: 0, isAppended, isSynced: (flags & O_DSYNC) !== 0 });
    };
  };
  /** @type {(args: any[]) => After} */
  const synced = ([descriptor]) => {
    const target = open.get(descriptor);
    if (target === undefined) return undefined;
    const isFailing = failure?.kind === 'failed sync' && counts.syncs === failure.at;
    counts.syncs += 1;
    /** @param {boolean} isFailed */
    const note = (isFailed) => {
      if ('folder' in target) steps.push({ op: 'sync folder', name: target.folder, isFailed });
      else steps.push({ op: 'sync', file: target.file.id, isFailed });
    };
    if (!isFailing) return () => note(false);
    note(true);
    return fail('EIO', 'fsync');
  };
  /** @type {(args: any[]) => After} */
  const removed = ([path]) => {
    const name = nameOf(path);
    if (name === undefined) return undefined;
    return () => {
      names.delete(name);
      steps.push({ op: 'remove', name });
    };
  };
  /** @param {string} name */
  const makeFolder = (name) => {
    if (names.has(name)) return;
    makeFolder(parentOf(name));
    names.set(name, 'folder');
    steps.push({ op: 'mkdir', name });
  };
  /**
   * @param {'rename' | 'link'} op
   * @returns {(args: any[]) => After}
   */
  const named =
    (op) =>
    ([fromPath, toPath]) => {
      const from = nameOf(fromPath);
      const name = nameOf(toPath);
      if (from === undefined && name === undefined) return undefined;
      return () => {
        const file = names.get(from ?? '');
        if (from === undefined || name === undefined || file === undefined || file === 'folder') {
          unknown.add(`${op} of a folder, or out of the store's folder: ${fromPath}, ${toPath}`);
          return;
        }
        if (op === 'rename') names.delete(from);
        names.set(name, file);
        steps.push({ op, from, name });
      };
    };
  /**
   * @param {string} call
   * @returns {(args: any[]) => After}
   */
  const refused = (call) => (args) => {
    const paths = args.slice(0, 2).filter((arg) => typeof arg === 'string');
    if (paths.every((path) => nameOf(path) === undefined)) return undefined;
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
      if (target === undefined || 'folder' in target) return undefined;
      args[3] = allowed(target, length, position);
      const all = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      const bytes = Buffer.from(all.subarray(offset, offset + args[3]));
      return (count) => noteWrite(target, bytes.subarray(0, count), length, position);
    },
    writeBuffers(args) {
      const target = open.get(args[0]);
      if (target === undefined || 'folder' in target) return undefined;
      const all = Buffer.concat(args[1]);
      const bytes = all.subarray(0, allowed(target, all.length, args[2]));
      args[1] = [bytes];
      return (count) => noteWrite(target, bytes.subarray(0, count), all.length, args[2]);
    },
    ftruncate([descriptor, size = 0]) {
      const target = open.get(descriptor);
      if (target === undefined || 'folder' in target) return undefined;
      return () => {
        const content = Buffer.alloc(size);
        target.file.bytes.copy(content);
        target.file.bytes = content;
        steps.push({ op: 'truncate', file: target.file.id, size });
      };
    },
    fsync: synced,
    fdatasync: synced,
    rename: named('rename'),
    link: named('link'),
    unlink: removed,
    rmdir: removed,
    mkdir([path]) {
      const name = nameOf(path);
      return name === undefined ? undefined : () => makeFolder(name);
    },
    mkdtemp: () => (path) => {
      const name = nameOf(path);
      if (name !== undefined) makeFolder(name);
    },
    ...Object.fromEntries(NOT_KNOWN.map((call) => [call, refused(call)])),
  };

  for (const [name, prepare] of Object.entries(calls)) {
    const original = binding[name];
    if (original !== undefined) binding[name] = around(binding, original, prepare, countFlight);
  }
  // A string that is written at once would hide its bytes.
  /** @type {(...args: any[]) => unknown} */
  binding.writeString = (descriptor, text, position, encoding, ...rest) => {
    const bytes = Buffer.from(text, encoding);
    return binding.writeBuffer(descriptor, bytes, 0, bytes.length, position, ...rest);
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

  /** @param {1 | -1} change */
  function countFlight(change) {
    inFlight += change;
  }

  /** Reports each difference between the folder and the steps, once no call is in progress. */
  async function compare() {
    for (let tries = 0; inFlight > 0 && tries < 50; tries += 1) await sleep(2);
    const seen = new Set(['']);
    for (const name of fs.readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      seen.add(name);
      const known = names.get(name);
      const isFile = fs.lstatSync(join(root, name)).isFile();
      if (known === undefined || isFile !== (known !== 'folder')) {
        unknown.add(`A call that was not recorded made ${name}`);
      } else if (known !== 'folder' && !fs.readFileSync(join(root, name)).equals(known.bytes)) {
        unknown.add(`A call that was not recorded changed ${name}`);
      }
    }
    for (const name of names.keys()) {
      if (!seen.has(name)) unknown.add(`A call that was not recorded removed ${name}`);
    }
  }

  /**
   * @param {string} what
   * @param {number} [item]
   */
  const note = (what, item) => void steps.push({ op: 'note', what, item });
  return { steps, unknown, counts, compare, note };
}

/**
 * Returns the function of the binding with `prepare` before it. It is called in one of three ways:
 * with a request that has a callback, with a mark for a promise, or neither.
 * @param {any} binding
 * @param {(...args: any[]) => any} original
 * @param {(args: any[]) => After} prepare
 * @param {(change: 1 | -1) => void} countFlight
 */
function around(binding, original, prepare, countFlight) {
  /** @param {any[]} args */
  return (...args) => {
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
      countFlight(1);
      const result = original(...args).then((/** @type {any} */ value) => {
        after?.(value);
        return value;
      });
      return result.finally(() => countFlight(-1));
    }
    if (request !== undefined) {
      const { oncomplete } = request;
      countFlight(1);
      /** @type {(error: unknown, ...results: any[]) => unknown} */
      request.oncomplete = (error, ...results) => {
        countFlight(-1);
        if (!error) after?.(results[0]);
        return oncomplete.call(request, error, ...results);
      };
      return original(...args);
    }
    const result = original(...args);
    // Node 20 returns the error of some synchronous calls in their last argument.
    if (args.at(-1)?.errno === undefined) after?.(result);
    return result;
  };
}

/**
 * Where a write begins.
 * @param {OpenFile} target
 * @param {unknown} position
 */
function positionOf({ file, position: current, isAppended }, position) {
  if (isAppended) return file.bytes.length;
  return isPlaced(position) ? Number(position) : current;
}

/** @param {unknown} position */
function isPlaced(position) {
  return typeof position === 'bigint' || (typeof position === 'number' && position >= 0);
}

/** @param {string} name */
function parentOf(name) {
  return name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : '';
}
