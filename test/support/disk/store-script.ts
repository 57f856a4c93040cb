/**
 * The scripts of the file store (test/stores/file/*.script). A case begins with one pet in an open
 * store, unless its first command is `none` or `start`. The commands:
 *
 *     create k1 Tom         a create, with a key if there is one; 201 is `stored`, 503 `refused`,
 *                           500 `unknown`
 *     send 5 k1             five creates at once; `responses` waits for them, and counts them
 *     start, stop, kill     the process; `closing` is a stop that nobody waits for
 *     pass 3, tick          seconds that pass; a second of which nobody waits for what is done then
 *     wait 23 h, wait 2 s   time that passes, without what is done each second
 *     fail EIO sync, free 9, memory 9
 *                           the disk from now on (faulty-disk.ts), its free bytes, and how much
 *                           memory can be had at once; `memory after`: none is left for a pet that
 *                           is written; `repair` ends all three
 *     on OPERATION: …       what happens at the next such operation; `release` ends a `hold`
 *     in-log create k1      what the program does in each call of its log
 *     remove, write, replace, touch, edit, cut, append, move, link
 *                           what another program does to a file; `replace` puts a copy in its place
 *     log, ready, list, operations, files, cat
 *                           print what was logged, /readyz, the ids, the disk's operations, files
 *
 * A case ends with the pets that a start finds in a copy of the files, as after a kill -9. There
 * the runner also checks what the store has said: all pets that it has reported as stored are where
 * `durability` says; in `repairing` and `ended` a create is refused without an operation of the
 * disk; after the stop no file is open.
 */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock, systemMemory } from '../../../src/core/base/system.ts';
import { StoreUnavailableError } from '../../../src/core/pets/pet-store.ts';
import { parsePet, splitPets } from '../../../src/core/pets/pet-text.ts';
import { withFile } from '../../../src/core/store/disk.ts';
import { openFileStore, type FileStore } from '../../../src/core/store/file-store.ts';
import { readDataFile } from '../../../src/core/store/read-data-file.ts';
import { PetTable } from '../../../src/core/store/pet-table.ts';
import { measured } from '../measured.ts';
import { REX } from '../pets/rex.ts';
import { countsOf, outcomeOf, type Begin, type Script } from '../script.ts';
import { TestClock } from '../test-clock.ts';
import { DATA_FILE, FaultyDisk, nameOf, pathOf } from './faulty-disk.ts';
import { copyOf, type MemoryDisk } from './memory-disk.ts';
import { contentOf, shownFile } from './shown-file.ts';

class StoreScript implements Script {
  readonly disk: FaultyDisk = new FaultyDisk((command) => this.run(command));
  readonly clock: TestClock = new TestClock();
  readonly printed: string[] = [];
  readonly t: TestContext;
  store: FileStore | undefined;
  /** Creates without a response. */
  sent: Promise<string>[] = [];
  /** What was logged since it was printed last. */
  events: string[] = [];
  inLog = 'none';
  /** The ids that were reported as stored. */
  readonly stored: Set<string> = new Set();
  #lost = '';
  #status = '';

  constructor(t: TestContext) {
    this.t = t;
  }

  get files(): MemoryDisk {
    return this.disk.memory;
  }

  async run(line: string): Promise<void> {
    const [, name = '', text = ''] = /^([\w-]+) ?(.*)$/.exec(line) ?? [];
    const command = COMMANDS[name] ?? assert.fail(`There is no command ${line}`);
    const printed = await command(this, text);
    if (typeof printed === 'string') this.printed.push(printed);
    if (/^(create|pass|tick|responses|stop)$/.test(name)) this.#printStatus();
  }

  async create(text: string): Promise<string> {
    const outcome = await outcomeOf(this.store!, text);
    const [, id] = /^stored (\d+)/.exec(outcome) ?? [];
    if (id !== undefined) this.stored.add(id);
    return outcome;
  }

  async open(): Promise<void> {
    [this.#lost, this.disk.openFiles] = ['', 0];
    this.store = await openFileStore({
      ...{ path: DATA_FILE, disk: this.disk.disk, clock: this.clock.startProcess() },
      randomBits: () => 1 + Object.keys(this.files.contents()).length,
      log: (level, event, details = {}) => {
        const texts = Object.entries(details).map(([name, value]) => `${name}=${value}`);
        this.events.push([`${level}: ${event}`, ...texts].join(' · '));
        void this.run(this.inLog);
        throw new Error('A log that fails changes nothing');
      },
    });
    void this.store.lost.then(({ message }) => (this.#lost = `, lost: ${message}`));
    this.#status = this.#statusOf(this.store);
  }

  /** Resolves with the reason if the start is refused. */
  async start(): Promise<string | undefined> {
    const before = this.files.contents();
    [this.store, this.disk.operations, this.events] = [undefined, [], []];
    try {
      await this.open();
      return undefined;
    } catch (error) {
      const after = Object.entries(this.files.contents());
      const changed = after.filter(([path, text]) => before[path] !== text);
      const names = changed.map(([path]) => ` (changed: ${nameOf(path)})`).join('');
      assert.equal(this.disk.openFiles, 0, 'Files are open after a refused start');
      // The words of V8 are not those of each Node.
      const reason = (error as Error).message.replace(/(not valid JSON): .*/, '$1');
      return `start refused: ${reason}${names}`;
    }
  }

  async end(): Promise<void> {
    const { store, disk } = this;
    if (store === undefined) return;
    if (['repairing', 'ended'].includes(store.state)) {
      assert.notEqual(store.unreadiness(), undefined);
      disk.operations = [];
      await assert.rejects(store.create(REX), StoreUnavailableError);
      assert.deepEqual(disk.operations, []);
    }
    const where = store.durability();
    const left = copyOf(this.files);
    const closing = store.close().catch(() => undefined);
    disk.release('');
    await closing;
    assert.equal(disk.openFiles, 0, 'Files are open after the close');
    disk.memory = left;
    await this.run('repair');
    if (where === 'saved file') await this.#assertSaved();
    const refused = await this.start();
    // This assignment is not known to the compiler.
    const found = this.store as FileStore | undefined;
    if (found === undefined) {
      assert.notEqual(where, 'data file', refused);
      // The whole message is in the cases of a start.
      return void this.printed.push(`next ${refused!.split(/\. |: what begins/)[0]}`);
    }
    const ids = await idsOf(found);
    for (const id of where === 'data file' ? this.stored : []) {
      assert.notEqual(await found.get(BigInt(id)), undefined, `The pet ${id} is lost`);
    }
    this.printed.push(`next start: ${ids}`);
    // Once more, with the file that this start and its stop leave.
    await found.close();
    await this.open();
    assert.equal(await idsOf(this.store!), ids);
  }

  /** Checks that the newest saved file has all pets that were reported as stored. */
  async #assertSaved(): Promise<void> {
    const names = Object.keys(this.files.contents()).filter((path) => path.includes('.saved-'));
    const saved = names.sort().at(-1)!;
    const deps = { clock: systemClock };
    const { pets } = await withFile(this.files, saved, (file) => readDataFile(saved, file, deps));
    for (const id of this.stored) assert.notEqual(pets.get(BigInt(id)), undefined, `${id} is lost`);
  }

  #statusOf(store: FileStore): string {
    return `${store.state}, pets in ${store.durability()}${this.#lost}`;
  }

  #printStatus(): void {
    if (this.store === undefined) return;
    const status = this.#statusOf(this.store);
    if (status !== this.#status) this.printed.push(status);
    this.#status = status;
  }
}

type Command = (script: StoreScript, text: string) => unknown;

const COMMANDS: Readonly<Record<string, Command>> = {
  none: () => undefined,

  // The process
  start: (script) => script.start(),
  async stop({ store, clock }) {
    const { ms } = clock;
    const error = await store!.close().catch((reason: Error) => reason.message);
    const took = clock.ms === ms ? '' : ` after ${(clock.ms - ms) / 1000} s`;
    return `stopped${took}${error === undefined ? '' : `: ${error}`}`;
  },
  closing: ({ store }) => void store!.close().catch(() => undefined),
  kill(script) {
    [script.disk.memory, script.store] = [copyOf(script.files), undefined];
  },
  create: (script, text) => script.create(text),
  async send(script, text) {
    const [, count = '', what = ''] = /^(\d+) ?(.*)$/.exec(text)!;
    script.sent.push(...Array.from({ length: Number(count) }, () => script.create(what)));
    await nextTurn();
  },
  async responses(script) {
    const texts = await Promise.all(script.sent.splice(0));
    const counts = countsOf(texts.map((text) => text.replace(/^(stored) \d+/, '$1')));
    const refused = measured(script.store!, 'store_refused_creates_total');
    const unknown = measured(script.store!, 'store_unknown_creates_total');
    return `${counts}\n${refused} are counted as refused, ${unknown} as unknown`;
  },
  async pass({ clock }, seconds) {
    for (let second = 0; second < Number(seconds); second += 1) await clock.pass(1000);
  },
  async tick({ clock }) {
    void clock.pass(1000);
    await nextTurn();
  },
  wait({ clock }, text) {
    const [, count, unit] = /^(\d+) (s|h)$/.exec(text)!;
    clock.ms += Number(count) * (unit === 's' ? 1000 : 3_600_000);
  },
  log: (script) => countsOf(script.events.splice(0)) || 'nothing is logged',
  list: async ({ store }) => `listed: ${await idsOf(store!)}`,
  ready: ({ store }) => `readyz: ${store!.unreadiness() ?? 'ready'}`,

  // The disk, and memory
  fail: ({ disk }, text) => disk.fail(text),
  on: ({ disk }, text) => disk.on(text),
  'in-log': (script, text) => void (script.inLog = text),
  release: ({ disk }, code) => disk.release(code),
  free: ({ disk }, bytes) => void (disk.freeBytes = Number(bytes)),
  memory({ t }, when) {
    const fail = (): never => {
      throw new RangeError('Array buffer allocation failed');
    };
    if (when === 'after') return void t.mock.method(PetTable.prototype, 'append', fail);
    for (const name of ['bytes', 'uint32s'] as const) {
      const allocate = systemMemory[name];
      t.mock.method(systemMemory, name, (length: number) =>
        length > Number(when) ? fail() : allocate(length),
      );
    }
  },
  repair(script) {
    script.disk.repair();
    script.t.mock.restoreAll();
  },
  operations: ({ disk }) => disk.operations.splice(0).join(', ') || 'no operation',

  // Other programs
  remove: ({ files }, name) => files.remove(pathOf(name)),
  write({ files }, text) {
    const [, name = '', content = 'a note of another program'] = /^(\S+) ?(.+)?$/.exec(text)!;
    files.write(pathOf(name), unescaped(content));
  },
  replace: ({ files }, name) => files.write(pathOf(name), files.read(pathOf(name))),
  touch: ({ files }, name) => files.edit(pathOf(name), files.read(pathOf(name))),
  append({ files }, text) {
    const [, name = '', more = ''] = /^(\S+) (.*)$/.exec(text)!;
    files.edit(pathOf(name), `${files.read(pathOf(name))}${unescaped(more)}`);
  },
  /** At a length, or at so many bytes before the file's end. */
  cut({ files, store, stored }, text) {
    // What is cut off while no store runs is lost.
    if (store === undefined) stored.clear();
    const [name = '', bytes] = text.split(' ');
    files.edit(pathOf(name), files.read(pathOf(name)).subarray(0, Number(bytes)));
  },
  /** Replaces what first matches the pattern; by nothing if that is all. */
  edit({ files }, text) {
    const [name = '', pattern = '', to = ''] = text.split(' ');
    const content = `${files.read(pathOf(name))}`.replace(new RegExp(pattern), unescaped(to));
    files.edit(pathOf(name), content);
  },
  /** A folder with all that is in it, or a file. */
  async move({ files }, text) {
    const [from = '', to = ''] = text.split(' ').map((name) => name.replace(/^(?!\/)/, '/d/'));
    const names = [from, ...Object.keys(files.contents())].filter((path) => path.startsWith(from));
    for (const path of new Set(names)) await files.rename(path, path.replace(from, to));
  },
  link: ({ files }, text) => files.link(...(text.split(' ').map(pathOf) as [string, string])),
  files({ files }) {
    const paths = Object.keys(files.contents()).sort();
    const texts = paths.map((path) => `${nameOf(path)}: ${contentOf(files.read(path))}`);
    return texts.join('\n') || 'no files';
  },
  cat: ({ files }, name) => shownFile(files.read(pathOf(name))),
};

/** `\n`, `\r`, `\t`, `\0` as in JavaScript, `\s` is a space, `\0*9` nine zeros, `\b0110` blanks. */
function unescaped(text: string): string {
  const meant: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', s: ' ', 0: '\0' };
  return text
    .replace(/\\b([01]+)/g, (_, bits: string) => bits.replaceAll('0', ' ').replaceAll('1', '\t'))
    .replace(/\\([nrts0])(?:\*(\d+))?/g, (_, letter: string, times?: string) =>
      meant[letter]!.repeat(Number(times ?? 1)),
    );
}

/** The ids, or how many there are. */
async function idsOf(store: FileStore): Promise<string> {
  const pets = splitPets((await store.list({ limit: 100_000 })).text).map(parsePet);
  if (pets.length > 100) return `${pets.length} pets`;
  return pets.map(({ id }) => id).join(', ') || 'no pets';
}

/** Begins a case. */
export const begin: Begin = async (t, first) => {
  const script = new StoreScript(t);
  if (/^> (none|start)\b/.test(first)) return script;
  await script.open();
  await script.create('');
  [script.disk.operations, script.events] = [[], []];
  return script;
};
