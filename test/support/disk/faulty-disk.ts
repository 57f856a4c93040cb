/**
 * A disk whose operations fail as a script says (store-script.ts). An operation has a name such as
 * `sync data-file`, `fstat data-file` for the state of an open file, or `write` for that of all
 * files.
 */

import type { Disk, FileStat } from '../../../src/core/store/disk.ts';
import { intercept, type Interceptor } from './intercept.ts';
import { createMemoryDisk, systemError, type MemoryDisk } from './memory-disk.ts';

export const FOLDER = '/d';
export const DATA_FILE = '/d/pets.json';

/** The path of a file by its name in a script: `data-file`, `data-file.journal`, `other`. */
export function pathOf(name: string): string {
  return name === 'folder' ? FOLDER : `/d/${name.replace(/^data-file/, 'pets.json')}`;
}

export function nameOf(path: string): string {
  if (path === FOLDER) return 'folder';
  const [, kind] = /\.(unfinished|saved)-[0-9a-fTZ]+$/.exec(path) ?? [];
  return kind ?? path.replace(DATA_FILE, 'data-file').replace(/^\/d\//, '');
}

interface Rule {
  readonly operation: string;
  /**
   * An error code; `error`, or `late` if the operation takes effect all the same; `hold`; as
   * its result, `false`, `unlinked`, a file without a name, or `elsewhere`, another path;
   * `short 5` for the number of bytes that are written.
   */
  readonly effect: string;
  /** What another program does right before it. */
  readonly commands: readonly string[];
  readonly isOnce: boolean;
}

const RESULT = 'false|unlinked|elsewhere';
const EFFECT: RegExp = new RegExp(`^([A-Z]+|error|late|hold|${RESULT}|short \\d+)$`);
const FAIL: RegExp = new RegExp(`^(?:([A-Z]+|${RESULT}) )?(.*)$`);
const CHANGES = /^(open|write|truncate|sync|rename|link|remove|close)/;

export class FaultyDisk {
  memory: MemoryDisk = createMemoryDisk();
  freeBytes = Infinity;
  openFiles = 0;
  /** What changed or synced a file, since it was printed last. */
  operations: string[] = [];
  /** Ends the operation that is held, with an error if a code is given. */
  release: (code: string) => void = () => undefined;
  #rules: readonly Rule[] = [];
  readonly #run: (command: string) => Promise<void>;

  constructor(run: (command: string) => Promise<void>) {
    this.#run = run;
  }

  get disk(): Disk {
    const disk = intercept(this.memory, (...call) => this.#operate(...call));
    return { ...disk, freeBytes: async (path) => (await disk.freeBytes(path), this.freeBytes) };
  }

  /** From now on operations fail: `EIO sync data-file, false lock`. EIO may be left out. */
  fail(text: string): void {
    const rules = text.split(', ').map((rule): Rule => {
      const [, effect = 'EIO', operation = ''] = FAIL.exec(rule)!;
      return { operation, effect, commands: [], isOnce: false };
    });
    this.#rules = [...this.#rules.filter(({ isOnce }) => isOnce), ...rules];
  }

  /** The next such operation does this: `sync data-file: remove data-file and late`. */
  on(text: string): void {
    const [, operation = '', effects = ''] = /^(.*?): (.*)$/.exec(text)!;
    const all = effects.split(' and ');
    const effect = all.find((one) => EFFECT.test(one)) ?? '';
    const commands = all.filter((one) => !EFFECT.test(one));
    this.#rules = [...this.#rules, { operation, effect, commands, isOnce: true }];
  }

  repair(): void {
    [this.#rules, this.freeBytes] = [[], Infinity];
  }

  #operate(...[{ operation, path }, args, proceed]: Parameters<Interceptor>): unknown {
    const isOpenFile = operation === 'stat' && args.length === 0;
    const name = isOpenFile ? 'fstat' : operation.replace('Now', '');
    const text = `${name} ${nameOf(/^(rename|link)$/.test(name) ? (args[1] as string) : path)}`;
    // A file is written in several parts.
    const isMore = name === 'write' && this.operations.at(-1) === text;
    if (CHANGES.test(name) && !isMore) this.operations.push(text);
    const rules = this.#rules.filter((rule) => [name, text].includes(rule.operation));
    const rule = rules.find(({ isOnce }) => isOnce) ?? rules[0];
    if (rule?.isOnce) this.#rules = this.#rules.filter((other) => other !== rule);
    const effect = rule?.effect || rules.find(({ isOnce }) => !isOnce)?.effect || '';
    const changes = (rule?.commands ?? []).map((command) => this.#run(command));
    const isFailure = /^([A-Z]+|error|late)$/.test(effect);
    // An open file needs no folder.
    const needsFolder = path.startsWith(FOLDER) && !/stat$|^makeDirectory$|^read/.test(operation);
    const isLost = needsFolder && this.memory.stat(FOLDER) === undefined;
    const code = isLost ? 'ENOENT' : /^[A-Z]/.test(effect) ? effect : 'EIO';
    const error = (isFailure || isLost) && systemError(code, path);
    const go = (): unknown => {
      if (effect === 'false') return false;
      if (effect === 'elsewhere') return '/elsewhere';
      if (effect === 'unlinked') return { ...(proceed(...args) as FileStat), links: 0 };
      const [, most] = /^short (\d+)$/.exec(effect) ?? [];
      if (most === undefined) return proceed(...args);
      const [bytes, position] = args as readonly [Buffer, number];
      return proceed(bytes.subarray(0, Number(most)), position);
    };
    if (/Now$|stat$/.test(operation)) {
      if (effect === 'late') go();
      if (error) throw error;
      return go();
    }
    return (async () => {
      await Promise.all(changes);
      if (effect === 'hold') await this.#held(path);
      // As on a real disk, a file is closed even when that fails.
      const result = !error || effect === 'late' || operation === 'close' ? await go() : undefined;
      if (operation === 'close') this.openFiles -= 1;
      if (error) throw error;
      if (operation === 'open') this.openFiles += 1;
      return result;
    })();
  }

  #held(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.release = (code) => (code === '' ? resolve() : reject(systemError(code, path)));
    });
  }
}
