/**
 * The scripts of the etcd store: processes that share one simulated etcd, with a virtual clock. The
 * process `a` is open at the beginning, on an empty log; `b create Tom` is a create of another one,
 * whose calls are all answered. What takes longer than 0.2 s is printed with its time. A case ends
 * with what a process that starts then finds. The keys of the log in etcd are `meta`, and `c/2` for
 * the slot after the pet 2.
 */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Logger } from '../../../src/core/base/logger.ts';
import { cut } from '../../../src/core/base/quote.ts';
import { StoreUnavailableError } from '../../../src/core/pets/pet-store.ts';
import { parsePet, splitPets } from '../../../src/core/pets/pet-text.ts';
import type { CallKind, EtcdClock } from '../../../src/extras/etcd/calls.ts';
import type { ClusterOptions } from '../../../src/extras/etcd/etcd-options.ts';
import type { EtcdStore } from '../../../src/extras/etcd/etcd-store.ts';
import { initEtcd } from '../../../src/extras/etcd/open-log.ts';
import { measured } from '../measured.ts';
import { REX } from '../pets/rex.ts';
import { countsOf, outcomeOf, type Begin, type Script } from '../script.ts';
import { openStore, simulated } from './opened-store.ts';
import { SimulatedEtcd, type Fate } from './simulated-etcd.ts';
import { VirtualClock } from './virtual-clock.ts';

/** How calls end, one after the other, and again; or only those for more commits than `beyond`. */
interface Ends {
  readonly fates: readonly Fate[];
  readonly beyond: number | undefined;
}

/** `done, cut / unsent *30`, or `too long beyond 2` */
function endsOf(text: string): Ends {
  const [all = '', beyond] = text.split(' beyond ');
  const fates = all.split(' / ').flatMap((one) => {
    const [fate, times = 1] = one.split(' *');
    return Array<Fate>(Number(times)).fill(fate as Fate);
  });
  return { fates, beyond: beyond === undefined ? undefined : Number(beyond) };
}

const keyOf = (name: string): string =>
  `petstore/${name.replace(/(?<=^c\/)\d(?!\d)/, (id) => id.padStart(19, '0'))}`;

class EtcdScript implements Script {
  readonly printed: string[] = [];
  readonly etcd: SimulatedEtcd = new SimulatedEtcd();
  readonly clock: VirtualClock = new VirtualClock();
  readonly stores: Map<string, EtcdStore> = new Map();
  readonly #lost: Map<string, string> = new Map();
  /** How the next creates and looks end, and then all others, and other calls. */
  next: readonly Fate[] = [];
  ends: Readonly<Record<string, Ends>> = {};
  /** Commands before or after a call, such as `before create`: each, or the nth of this kind. */
  hooks: readonly { readonly moment: string; left: number; readonly commands: string }[] = [];
  /** How much the clocks of `a` are ahead. */
  readonly aheadMs: Record<string, number> = { now: 0, timeOfDay: 0 };
  /** What was logged since it was printed last. */
  events: string[] = [];
  sent: Promise<string>[] = [];
  readonly #t: Pick<TestContext, 'after'>;

  constructor(t: Pick<TestContext, 'after'>) {
    this.#t = t;
  }

  async run(line: string): Promise<void> {
    const [, name = 'a', word = '', text = ''] = /^(?:([abc]) )?(\w+) ?(.*)$/.exec(line) ?? [];
    const command = COMMANDS[word] ?? assert.fail(`There is no command ${line}`);
    const work = command(this, text, this.stores.get(name)!);
    // Each response has its own time.
    const printed = await (word === 'responses' ? work : this.timed(work));
    if (typeof printed === 'string') this.printed.push(printed);
  }

  async open(name: string, prefix?: string): Promise<void> {
    const store = await openStore(this.#t, this.options(name, prefix));
    this.stores.set(name, store);
    void store.lost.then(({ message }) => this.#lost.set(name, message));
  }

  /** What the process is opened with. */
  options(name: string, prefix = 'petstore/'): ClusterOptions {
    const { clock } = this;
    const ahead: EtcdClock = {
      ...clock,
      now: () => clock.now() + this.aheadMs['now']!,
      timeOfDay: () => clock.timeOfDay() + this.aheadMs['timeOfDay']!,
    };
    const isOther = name === 'b';
    const calls = this.etcd.calls(async (kind, limit) => {
      // A call takes a millisecond.
      await clock.sleep(1);
      return isOther ? 'answered' : this.#fateOf(kind, limit);
    });
    const txn: typeof calls.txn = async (...call) => {
      const result = await calls.txn(...call);
      if (!isOther) await this.#happens(`after ${call[1]}`);
      return result;
    };
    const log: Logger = (level, event, { cause } = {}) => {
      const text = cause === undefined ? event : `${event}: ${String(cause)}`;
      if (!isOther) this.events.push(`${level}: ${text}`);
    };
    const own = isOther ? clock : ahead;
    return simulated(this.etcd, { calls: { ...calls, txn }, clock: own, log, prefix });
  }

  async #fateOf(kind: CallKind, limit: number): Promise<Fate> {
    await this.#happens(`before ${kind}`);
    const [first, ...others] = this.next;
    const isCreate = kind === 'create' || kind === 'look';
    if (isCreate) this.next = others;
    if (isCreate && first !== undefined) return first;
    const name = isCreate ? 'create' : kind;
    const { fates, beyond } = this.ends[name] ?? endsOf('answered');
    // The limit is NaN if the call has none.
    if (beyond !== undefined && !(limit > beyond)) return 'answered';
    const [fate, ...rest] = fates;
    this.ends = { ...this.ends, [name]: { fates: [...rest, fate!], beyond } };
    return fate!;
  }

  async #happens(moment: string): Promise<void> {
    for (const hook of this.hooks.filter((one) => one.moment === moment)) {
      hook.left -= 1;
      // Without a number it is NaN.
      if (hook.left > 0 || hook.left < 0) continue;
      for (const command of hook.commands.split(' and ')) await this.run(command);
    }
  }

  /** The time is by the clock of etcd. */
  async timed(work: unknown): Promise<string | undefined> {
    const startedAt = this.clock.now();
    const printed = await work;
    const seconds = (this.clock.now() - startedAt) / 1000;
    if (typeof printed !== 'string') return undefined;
    return seconds > 0.2 ? `after ${seconds.toFixed(1)} s: ${printed}` : printed;
  }

  hook(when: string, text: string): void {
    const [, kind, nth, commands = ''] = /^(\w+) ?(\d+)?: (.*)$/.exec(text)!;
    this.hooks = [...this.hooks, { moment: `${when} ${kind}`, left: Number(nth), commands }];
  }

  async end(): Promise<void> {
    for (const [name, message] of this.#lost) {
      const store = this.stores.get(name)!;
      assert.equal(store.unreadiness(), 'This process cannot continue with the log in etcd');
      await assert.rejects(store.create(REX), StoreUnavailableError);
      await assert.rejects(async () => store.get(1n), StoreUnavailableError);
      this.printed.push(`${name} ends its work with ${store.count().total} pets: ${message}`);
    }
    [this.hooks, this.ends] = [[], {}];
    await this.run('start next');
    const next = this.stores.get('next');
    if (next !== undefined) this.printed.push(`next start: ${await petsOf(next)}`);
  }
}

type Command = (script: EtcdScript, text: string, store: EtcdStore) => unknown;

const COMMANDS: Readonly<Record<string, Command>> = {
  /** Opens a process, on another log if its prefix is given. */
  start(script, text) {
    const [name = '', prefix] = text.split(' ');
    return script.open(name, prefix).then(
      () => (name === 'c' ? 'c starts' : undefined),
      ({ message }: Error) => `${name} start refused: ${message}`,
    );
  },
  /** As the command init-etcd, with the calls of `a`. */
  init: (script, prefix) => initEtcd(script.options('a', prefix)).catch(String),
  create: (_, text, store) => outcomeOf(store, text),
  list: (_, _text, store) =>
    petsOf(store).catch((error: Error) => {
      assert.ok(error instanceof StoreUnavailableError);
      return `refused: ${error.message}`;
    }),
  /** Creates so many Toms, one after the other. */
  async write(_, count, store) {
    for (let i = 0; i < Number(count); i += 1) await store.create({ ...REX, name: 'Tom' });
  },
  /** Does so many creates or lists at once, and waits for none of them: `send 2 create k1`. */
  send(script, text, store) {
    const [, count, name = '', rest = ''] = /^(?:(\d+) )?(\w+) ?(.*)$/.exec(text)!;
    for (let i = 0; i < Number(count ?? 1); i += 1) {
      script.sent.push(script.timed(COMMANDS[name]!(script, rest, store)).then(String));
    }
  },
  responses: async ({ sent }) => countsOf(await Promise.all(sent.splice(0))),
  close: (_, _text, store) => store.close().then(() => 'closed'),
  drain: (_, _text, store) => store.drain(),
  conflicts: (_, _text, store) => `${measured(store, 'etcd_conflicts_total')} conflicts`,
  failures: (_, _text, store) => {
    const refused = measured(store, 'store_refused_creates_total');
    return `${refused} refused, ${measured(store, 'store_unknown_creates_total')} unknown`;
  },
  ready: (_, _text, store) => `readyz: ${store.unreadiness() ?? 'ready'}`,
  log: ({ events }) => countsOf(events.splice(0)) || 'nothing is logged',
  pass: ({ clock }, seconds) => clock.sleep(1000 * Number(seconds)),
  /** Sets a clock of `a` ahead: `ahead timeOfDay 24.9`. */
  ahead({ aheadMs }, text) {
    const [clock = '', hours] = text.split(' ');
    aheadMs[clock] = Number(hours) * 3_600_000;
  },

  // How the calls of `a` and `c` end
  next: (script, text) => void (script.next = endsOf(text).fates),
  always(script, text) {
    const [, kind = '', ends = ''] = /^(create|read|start) (.*)$/.exec(text)!;
    script.ends = { ...script.ends, [kind]: endsOf(ends) };
  },
  before: (script, text) => script.hook('before', text),
  after: (script, text) => script.hook('after', text),
  calm: (script) => void ([script.hooks, script.ends] = [[], {}]),

  // What others do to the keys in etcd
  put({ etcd }, text) {
    const [, key = '', value = ''] = /^(\S+) (.*)$/.exec(text)!;
    etcd.entries.set(keyOf(key), Buffer.from(value.replaceAll('\\n', '\n')));
  },
  delete: ({ etcd }, key) => void etcd.entries.delete(keyOf(key)),
  copy({ etcd }, text) {
    const [from = '', to = ''] = text.split(' ');
    etcd.entries.set(keyOf(to), etcd.entries.get(keyOf(from))!);
  },
  /** From now on etcd takes each compare for true whose text matches. */
  ignore({ etcd }, pattern) {
    const { txn } = etcd;
    etcd.txn = ({ compare = [], ...rest }) => {
      const kept = compare.filter((one) => !new RegExp(pattern).test(JSON.stringify(one)));
      return txn.call(etcd, { ...rest, compare: kept });
    };
  },
};

/** The ids and names, or how many pets have each name. */
async function petsOf(store: EtcdStore): Promise<string> {
  const pets = splitPets((await store.list({ limit: 1000 })).text).map(parsePet);
  const few = pets.map(({ id, name }) => `${id} ${cut(name, 9)}`).join(', ');
  return pets.length < 10 ? few || 'no pets' : countsOf(pets.map(({ name }) => name));
}

/** Begins a case. */
export const begin: Begin = async (t) => {
  const script = new EtcdScript(t);
  await initEtcd(simulated(script.etcd));
  await script.open('a');
  return script;
};
