/**
 * The scripts of the file store. A case begins with one pet in the journal of an open store, unless
 * its first command is `none`, `start` or `data-file`. The state is printed when it changes. A case
 * ends with the pets that a start finds in a copy of the files, as after a kill -9.
 */

import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { systemMemory } from '../../../src/base/system.ts';
import type { NewPet } from '../../../src/model/pet.ts';
import { StoreUnavailableError } from '../../../src/model/pet-store.ts';
import {
  loadStoredData,
  verifyData,
  type WholeData,
} from '../../../src/stores/file/stored-data.ts';
import type { Disk } from '../../../src/stores/file/disk.ts';
import { openFileStore, type FileStore } from '../../../src/stores/file/file-store.ts';
import { encodeLine } from '../../../src/stores/file/journal-line.ts';
import { PetTable } from '../../../src/stores/table/pet-table.ts';
import { requestKey } from '../pets/request-keys.ts';
import { countsOf, outcomeOf, testScript, type Script } from '../script.ts';
import { TestClock } from '../test-clock.ts';
import { intercept, type Interceptor } from './intercept.ts';
import { journalLines, petText, REX, dataFileId } from './journal-text.ts';
import { copyOf, createMemoryDisk, systemError, type MemoryDisk } from './memory-disk.ts';

/** What the commands call the files. */
const PATHS: Readonly<Record<string, string>> = {
  folder: '/d',
  'data-file': '/d/pets.json',
  journal: '/d/pets.json.journal',
  lock: '/d/pets.json.lock',
  saved: '/d/pets.json.saved-20261120T201500123Z',
};
const pathOf = (name: string): string => PATHS[name] ?? `/d/${name}`;
const twoPaths = (text: string): [string, string] =>
  text.split(' ').map(pathOf) as [string, string];
const nameOf = (path: string): string => {
  const [name] = Object.entries(PATHS).find(([, known]) => known === path) ?? [];
  return name ?? (/\.(unfinished|saved)-/.exec(path)?.[1] || path.replace('/d/', ''));
};

/** What `on` does to the operation: it fails, takes effect and fails, waits, or is short. */
const EFFECT = /^(error|late|hold|short \d+)$/;

/** An operation of the disk by a script's name, such as `sync journal`, and what becomes of it. */
interface Rule {
  readonly operation: string;
  readonly effect: string;
}

class StoreScript implements Script {
  memory: MemoryDisk = createMemoryDisk();
  readonly clock: TestClock = new TestClock();
  readonly printed: string[] = [];
  store: FileStore | undefined;
  pets = new PetTable();
  /** Holds from then on: the effect is an error code. */
  failing: readonly Rule[] = [];
  /** Hold once: the effects are commands. */
  once: readonly Rule[] = [];
  freeBytes = Infinity;
  /** Creates without a response, and what ends the operation that is held. */
  sent: Promise<string>[] = [];
  release: (code: string) => void = () => undefined;
  openFiles = 0;
  /** Since they were printed last: what changed or synced a file, and what was logged. */
  operations: string[] = [];
  events: string[] = [];
  #lost = '';
  #status = '';

  get disk(): Disk {
    return intercept(this.memory, (...call) => this.#operate(...call));
  }

  async run(line: string): Promise<void> {
    const [, name = '', text = ''] = /^([\w-]+) ?(.*)$/.exec(line) ?? [];
    const command = COMMANDS[name] ?? assert.fail(`There is no command ${line}`);
    const printed = await command(this, text);
    if (typeof printed === 'string') this.printed.push(printed);
    if (/^(create|pass|stop)$/.test(name)) this.#printStatus();
  }

  async open(): Promise<void> {
    [this.pets, this.#lost, this.openFiles] = [new PetTable(), '', 0];
    const { disk } = this;
    this.store = await openFileStore({
      ...{ path: PATHS['data-file']!, pets: this.pets, ...this.clock.startProcess() },
      disk: {
        ...disk,
        freeBytes: (path) =>
          disk.freeBytes(path).then((all) => (path === PATHS['folder'] ? this.freeBytes : all)),
      },
      randomBits: () => 1 + this.memory.paths().length,
      log: (level, event, details = {}) => {
        this.events.push([`${level}:`, event, ...Object.values(details)].join(' '));
        throw new Error('A log that fails changes nothing');
      },
    });
    void this.store.log.lost.then(
      ({ message }) => (this.#lost = `, lost: ${message.split(',')[0]}`),
    );
    this.#status = this.#statusOf(this.store);
  }

  async end(): Promise<void> {
    const { store } = this;
    if (store === undefined) return;
    const { state } = store.log;
    if (state === 'repairing' || state === 'readOnly') {
      // Readiness is exact, and a create is refused without an operation of the disk.
      assert.notEqual(store.problem(), undefined);
      this.operations = [];
      await assert.rejects(store.create(REX), StoreUnavailableError);
      assert.deepEqual(this.operations, []);
    }
    if (state === 'working') await idsOf(store);
    const left = copyOf(this.memory);
    await store.close().catch(() => undefined);
    assert.equal(this.openFiles, 0, 'Files are open after the close');
    this.memory = left;
    await this.run('repair');
    const refused = await COMMANDS['start']!(this, '');
    // Only the reason: other cases have all of the message.
    const [reason] = String(refused).split(/: rename|\. /);
    if (this.store === undefined) return void this.printed.push(`next ${reason}`);
    const ids = await idsOf(this.store);
    this.printed.push(`next start: ${ids}`);
    // Once more, with the files that this start and its stop leave.
    await this.store.close();
    await this.open();
    assert.equal(await idsOf(this.store), ids);
  }

  #held(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.release = (code) => (code === '' ? resolve() : reject(systemError(code, path)));
    });
  }

  #statusOf({ log, durability }: FileStore): string {
    const isInDoubt = log.doubtOf(requestKey(1)) !== undefined;
    const where = durability.call(this.store);
    return `${log.state}${isInDoubt ? ', k1 in doubt' : ''}, pets in ${where}${this.#lost}`;
  }

  #printStatus(): void {
    if (this.store === undefined) return;
    const status = this.#statusOf(this.store);
    const isUsual = status === 'working, pets in journal' && this.#status.startsWith('working');
    if (status !== this.#status && !isUsual) this.printed.push(status);
    this.#status = status;
  }

  #operate(...[{ operation, path }, args, proceed]: Parameters<Interceptor>): unknown {
    // The stat of an open file has no path.
    if (operation === 'stat' && args.length === 0) return proceed();
    const name = operation.replace('Now', '');
    const target = nameOf(operation === 'rename' ? (args[1] as string) : path);
    const text = `${operation} ${target}`;
    // A file is written in several parts.
    const isMore = name === 'write' && this.operations.at(-1) === text;
    if (CHANGES.test(name) && !isMore) this.operations.push(text);
    const meets = (rule: Rule): boolean => [name, `${name} ${target}`].includes(rule.operation);
    const failing = this.failing.find(meets);
    const hit = this.once.find(meets);
    this.once = this.once.filter((rule) => rule !== hit);
    const effects = hit?.effect.split(' and ') ?? [];
    const [effect] = effects.filter((line) => EFFECT.test(line));
    const changes = effects.filter((line) => line !== effect).map((line) => this.run(line));
    const fails = effect === 'late' || effect === 'error' || failing !== undefined;
    const error = fails ? systemError(failing?.effect ?? 'EIO', path) : undefined;
    const [bytes, offset, ...rest] = args as readonly [Buffer, number, ...(readonly number[])];
    const [, most] = /^short (\d+)$/.exec(effect ?? '') ?? [];
    const go = (): unknown =>
      most === undefined
        ? proceed(...args)
        : proceed(bytes.subarray(0, offset + Number(most)), offset, ...rest);
    if (operation === 'stat' || operation === 'writeNow') {
      if (error !== undefined) throw error;
      return go();
    }
    return (async () => {
      await Promise.all(changes);
      if (effect === 'hold') await this.#held(path);
      // As on a real disk, a file is closed even when that fails.
      const hasEffect = error === undefined || effect === 'late' || operation === 'close';
      const result = hasEffect ? await go() : undefined;
      if (operation === 'close') this.openFiles -= 1;
      if (error !== undefined) throw error;
      if (operation === 'open') this.openFiles += 1;
      return result;
    })();
  }
}

const CHANGES = /^(open|write|truncate|sync|rename|remove|close)/;

type Command = (script: StoreScript, text: string) => unknown;

const COMMANDS: Readonly<Record<string, Command>> = {
  none: () => undefined,

  // The process
  async start(script) {
    const before = script.memory.contents();
    [script.store, script.operations, script.events] = [undefined, [], []];
    try {
      await script.open();
      return undefined;
    } catch (error) {
      const after = Object.entries(script.memory.contents());
      const changed = after.filter(([path, text]) => before[path] !== text && !path.endsWith('k'));
      const names = changed.map(([path]) => ` (changed: ${nameOf(path)})`).join('');
      if (script.memory.stat(pathOf('lock')) !== undefined) {
        const lock = await script.memory.lock(pathOf('lock'));
        await (lock ?? assert.fail('The lock is still held')).release();
      }
      assert.equal(script.openFiles, 0, 'Files are open after a refused start');
      return `start refused: ${(error as Error).message}${names}`;
    }
  },
  async stop({ store, clock }) {
    const { ms } = clock;
    const error = await store!.close().then(
      () => '',
      ({ message }: Error) => `: ${message}`,
    );
    return clock.ms === ms && error === ''
      ? undefined
      : `stopped after ${clock.ms - ms} ms${error}`;
  },
  closing: ({ store }) => void store!.close(),
  kill(script) {
    script.memory = copyOf(script.memory);
    script.store = undefined;
  },
  /** What check-data finds, beside a store or without one. */
  check: ({ disk }) => summaryOf(verifyData(disk, pathOf('data-file'))),
  import: ({ disk }) => summaryOf(loadStoredData(disk, pathOf('data-file'))),
  create: ({ store }, text) => outcomeOf(store!, text),
  /** Sends so many creates at once, and waits for none of them. */
  async send(script, text) {
    const [, count = '', what = ''] = /^(\d+) ?(.*)$/.exec(text)!;
    const sent = Array.from({ length: Number(count) }, () => outcomeOf(script.store!, what));
    script.sent.push(...sent);
    await nextTurn();
  },
  /** Ends the operation that `on` holds, with an error if one is given. */
  release: (script, code) => script.release(code),
  async responses(script) {
    const texts = await Promise.all(script.sent.splice(0));
    const counts = countsOf(texts.map((text) => text.replace(/^(stored) \d+/, '$1')));
    const { refusedCreates, unknownCreates } = script.store!.stats();
    return `${counts}\n${refusedCreates} are counted as refused, ${unknownCreates} as unknown`;
  },
  /** Lets so much time pass, and the store do what is due. */
  async pass({ clock }, seconds) {
    for (let second = 0; second < Number(seconds); second += 1) await clock.pass(1000);
  },
  /** As `pass 1`, and waits for nothing. */
  async tick({ clock }) {
    void clock.pass(1000);
    await nextTurn();
  },
  /** Lets time pass for the keys only; or steps the time of day. */
  wait: ({ clock }, ms) => void (clock.ms += Number(ms)),
  step: ({ clock }, hours) => void (clock.offsetMs += Number(hours) * 3_600_000),
  log: (script) => countsOf(script.events.splice(0)) || 'nothing is logged',
  problem: ({ store }) => `problem: ${store!.problem()}`,

  // The disk
  fail(script, text) {
    script.failing = text.split(', ').map((rule) => {
      const [, effect = 'EIO', operation = ''] = /^(?:([A-Z]+) )?(.*)$/.exec(rule)!;
      return { operation, effect };
    });
  },
  on(script, text) {
    const [, operation, effect] = /^(.*?): (.*)$/.exec(text)!;
    script.once = [...script.once, { operation: operation!, effect: effect! }];
  },
  repair: (script) => void ([script.failing, script.once, script.freeBytes] = [[], [], Infinity]),
  free: (script, bytes) => void (script.freeBytes = Number(bytes)),
  memory: ({ pets }) => {
    pets.append = () => {
      throw new RangeError('Array buffer allocation failed');
    };
  },
  operations: (script) => script.operations.splice(0).join(', ') || 'no operation',

  // Other programs
  remove: ({ memory }, name) => memory.remove(pathOf(name)),
  /** Puts another file at the path. */
  write({ memory }, text) {
    const [, name = '', content = 'a note of another program'] = /^(\S+) ?(.+)?$/.exec(text)!;
    if (memory.stat(pathOf(name)) !== undefined) void memory.remove(pathOf(name));
    memory.write(pathOf(name), unescaped(content));
  },
  /** Puts a copy of the file in its place. */
  copy({ memory }, name) {
    const content = memory.read(pathOf(name));
    void memory.remove(pathOf(name));
    memory.write(pathOf(name), content);
  },
  move: ({ memory }, text) => memory.rename(...twoPaths(text)),
  link: ({ memory }, text) => memory.link(...twoPaths(text)),
  append({ memory }, text) {
    const [, name = '', more = ''] = /^(\S+) (.*)$/.exec(text)!;
    memory.write(pathOf(name), `${memory.read(pathOf(name))}${unescaped(more)}`);
  },
  /** Cuts the file off at a length, or at so many bytes before its end. */
  async cut({ memory }, text) {
    const [name = '', bytes] = text.split(' ');
    const length = memory.read(pathOf(name)).subarray(0, Number(bytes)).length;
    await (await memory.open(pathOf(name), 'edit')).truncate(length);
  },
  /** Replaces what first matches the pattern, in the file's place; by nothing if that is all. */
  async edit({ memory }, text) {
    const [name = '', pattern = '', to = ''] = text.split(' ');
    const content = `${memory.read(pathOf(name))}`.replace(new RegExp(pattern), to);
    const file = await memory.open(pathOf(name), 'edit');
    await file.truncate(0);
    file.writeNow(Buffer.from(content), 0, 0);
  },
  files({ memory }) {
    const files = Object.entries(memory.contents()).sort();
    return files.map(([path, text]) => `${nameOf(path)} (${contentOf(text)})`).join(', ');
  },
  /** Adds an intact line to the journal. */
  line({ memory }, text) {
    const journal = memory.read(pathOf('journal'));
    const { bytes } = encodeLine(systemMemory, text, crc32(journal));
    memory.write(pathOf('journal'), Buffer.concat([journal, bytes]));
  },
  /** How many pets each line of the journal has. */
  lines({ memory }) {
    const lines = memory.read(pathOf('journal')).toString('latin1').split('\n');
    const sizes = lines.slice(0, -1).map((line) => {
      const pets = line.split('{"id":').length - 1;
      return line.length > 1 << 20 ? `${pets} in more than 1 MiB` : pets;
    });
    return `pets of each line: ${sizes.join(', ')}`;
  },
  /** Writes a data file of so many pets, called Rex. */
  'data-file': ({ memory }, count) => memory.write(pathOf('data-file'), dataFileOf(Number(count))),
  /** Writes a journal after that data file, or the one that is there: `journal 2: 1, 3, 1*2500`. */
  journal({ memory }, text) {
    const [pets = '', sizes = ''] = text.split(':');
    const dataFile = pets === '' ? `${memory.read(pathOf('data-file'))}` : dataFileOf(Number(pets));
    const lastId = Math.max(
      0,
      ...[...dataFile.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id)),
    );
    const commits = (sizes.match(/[\d*]+/g) ?? []).flatMap((item) => {
      const [size, times = 1] = item.split('*').map(Number);
      return Array<readonly NewPet[]>(times).fill(Array<NewPet>(size!).fill(REX));
    });
    const lines = journalLines(dataFileId(dataFile, lastId), commits);
    memory.write(pathOf('journal'), Buffer.concat(lines));
  },
};

/** `\\n` is a line feed, `\\0` a zero byte, and `\\e` nothing. */
const unescaped = (text: string): string =>
  text.replaceAll('\\n', '\n').replaceAll('\\0', '\0').replaceAll('\\e', '');

const summaryOf = (reading: Promise<WholeData>): Promise<string> =>
  reading.then(
    ({ pets, dataFilePets }) => `${pets.length} pets, ${dataFilePets} of them in the data file`,
    ({ message }: Error) => message,
  );

function dataFileOf(count: number): string {
  const pets = Array.from({ length: count }, (_, index) => petText(index + 1));
  return `[${pets.join(',\n')}]\n`;
}

/** How many pets and keys a file has; its size if it has neither. */
function contentOf(text: string): string {
  const pets = text.split('"name":').length - 1;
  const keys = text.match(/"[0-9a-f]{32}"/g)?.length ?? 0;
  return pets + keys === 0 ? `${text.length} bytes` : `${pets} pets, ${keys} keys`;
}

/** The ids, or how many there are. Checks that all reads show the same pets. */
async function idsOf(store: FileStore): Promise<string> {
  const { text } = await store.list({ limit: 10_000 });
  const ids = [...text.matchAll(/(?<=^\[|,\n)\{"id":([0-9]+)/g)].map(([, id]) => BigInt(id!));
  assert.equal(store.count().total, ids.length);
  // To read each of the longest ones alone takes seconds.
  const alone = text.length < 1 << 20 ? ids : [...ids.slice(0, 2), ...ids.slice(-2)];
  for (const id of alone) assert.ok(text.includes((await store.get(id))!.text));
  assert.equal(await store.get((ids.at(-1) ?? 0n) + 1n), undefined);
  return ids.length > 100 ? `${ids.length} pets` : ids.join(', ') || 'no pets';
}

/** These commands begin without a store. */
const WITHOUT_STORE = /^> (none|start|data-file)\b/;

/** Makes a test of each case of a file, whose path is from the folder of tests. */
export function testStoreScript(name: string): void {
  testScript(name, async (_, first) => {
    const script = new StoreScript();
    if (WITHOUT_STORE.test(first)) return script;
    await script.open();
    await script.store!.create(REX);
    [script.operations, script.events] = [[], []];
    return script;
  });
}
