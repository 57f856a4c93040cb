/**
 * A random test in the manner of Jepsen: three services on three real members, with clients that
 * create, retry through another process, read and list, while members and processes are killed and
 * stopped, and links between them fail. All responses must be those of one log.
 *
 * ETCD_SEED and ETCD_SECONDS choose another seed and a longer time. A seed repeats the faults and
 * the calls, but not the timing. The test must find the faults that are planted below.
 */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { initEtcd } from '../../../src/stores/etcd/new-log.ts';
import { rounds } from '../../support/extent.ts';
import { clusterOfFile, withoutEtcd, type Cluster } from '../../support/etcd/cluster.ts';
import { bringFaults, type World } from '../../support/etcd/faults.ts';
import { History, type SeenPet } from '../../support/etcd/history.ts';
import { startLinks } from '../../support/etcd/link.ts';
import {
  brokenServer,
  ServiceProcess,
  type PlantedFault,
} from '../../support/etcd/service-process.ts';
import { SERVER_JS } from '../../support/process/process.ts';
import { createRandom, type Random } from '../../support/random.ts';

const SEED: number = Number(process.env['ETCD_SEED'] ?? Math.floor(Math.random() * 1e9));
const SECONDS: number = Number(process.env['ETCD_SECONDS'] ?? rounds(10, 60));

const PROCESSES = 3;
const CLIENTS = 9;
/** How long a client waits at most before it asks another process. */
const PATIENCE_MS = 1_000;
/** How long clients may take to finish after the last fault. */
const END_MS = 60_000;

const cluster = await clusterOfFile(3);
let prefixes = 0;

/** The status and the value of a response; undefined if there is none. */
type Answer = readonly [status: number, body: unknown] | undefined;

class Life {
  readonly history: History = new History();
  readonly world: World;
  readonly #random: Random;
  #names = 0;
  #isOver = false;

  constructor(
    cluster: Cluster,
    links: World['links'],
    { program, prefix, seed }: { program: string; prefix: string; seed: number },
  ) {
    this.#random = createRandom(seed);
    const processes = links.map((ofOne) => {
      const PETSTORE_ETCD = ofOne.map(({ endpoint }) => endpoint).join(',');
      const env = { PETSTORE_ETCD, PETSTORE_ETCD_PREFIX: prefix };
      return new ServiceProcess(program, env, (log) =>
        this.history.violated(`a process has lost the log: ${log}`),
      );
    });
    this.world = { cluster, processes, links };
  }

  /** Runs the clients for `ms`, and checks the history. Resolves with the number of faults. */
  async run(ms: number, hasFaults: boolean): Promise<Readonly<Record<string, number>>> {
    const { cluster, processes } = this.world;
    const until = performance.now() + END_MS;
    while (!processes.every(({ isReady }) => isReady)) {
      assert.ok(performance.now() < until, 'the processes do not start');
      await sleep(20);
    }
    const endsAt = performance.now() + ms;
    const isOver = (): boolean => performance.now() >= endsAt || this.#isViolated;
    const faults = hasFaults ? bringFaults(this.world, this.#random, isOver) : {};
    const clients = Array.from({ length: CLIENTS }, () => this.#client());
    while (!isOver()) await sleep(20);
    const counts = await faults;
    this.#isOver = true;
    await cluster.ready();
    await Promise.all(clients);
    if (this.#isViolated) this.history.check([]);
    const lists = await Promise.all(processes.map((process) => this.#wholeList(process)));
    // Twice, since a process may lack a pet that only a later list shows.
    for (const list of [...lists, ...lists]) this.history.check(list);
    return counts;
  }

  get #isViolated(): boolean {
    return this.history.violation !== undefined;
  }

  async #client(): Promise<void> {
    while (!this.#isOver) {
      const lot = this.#random.below(10);
      if (lot < 4) await this.#createOnce();
      else if (lot < 6) await this.#create();
      else await this.#list();
    }
  }

  /**
   * Creates a pet with a key, through one process after the other or two together, until one of
   * them returns it.
   */
  async #createOnce(): Promise<void> {
    const name = this.#newName();
    const startedAt = performance.now();
    let isCreated = false;
    const attempt = async (): Promise<void> => {
      const answer = await this.#send(name, { 'Idempotency-Key': name });
      isCreated ||= answer?.[0] === 201;
    };
    while (!isCreated && !this.#isViolated) {
      const attempts = [attempt()];
      if (this.#random.oneIn(4)) attempts.push(attempt());
      await Promise.race([Promise.all(attempts), sleep(this.#random.below(PATIENCE_MS))]);
      if (!isCreated) await sleep(this.#random.below(100));
      const isLate = this.#isOver && performance.now() - startedAt > END_MS;
      if (isLate) this.history.violated(`${name} was never acknowledged`);
    }
  }

  /** Creates a pet once. Its outcome may be unknown. */
  async #create(): Promise<void> {
    const name = this.#newName();
    const answer = await this.#send(name);
    if (answer?.[0] === 503) this.history.refused(name);
  }

  async #send(name: string, headers: Record<string, string> = {}): Promise<Answer> {
    this.history.sent(name);
    const body = JSON.stringify({ name, categoryId: 1 });
    const answer = await this.#ask('', { method: 'POST', headers, body });
    if (answer?.[0] === 201) this.history.created(answer[1] as SeenPet);
    return answer;
  }

  async #list(): Promise<void> {
    const { lastId } = this.history;
    const after = this.#random.below(this.#random.pick([3, 12, lastId + 2]));
    const limit = this.#random.pick([1, 20]);
    const page = { after: Math.max(0, lastId + 1 - after), limit, lastId };
    const pets = await this.#page(page, this.#process());
    if (pets !== undefined) this.history.listed(page, pets);
  }

  async #page(
    { after, limit }: { readonly after: number; readonly limit: number },
    process: ServiceProcess,
  ): Promise<readonly SeenPet[] | undefined> {
    const [status, body] = (await this.#ask(`?limit=${limit}&after=${after}`, {}, process)) ?? [];
    return status === 200 ? (body as readonly SeenPet[]) : undefined;
  }

  async #wholeList(process: ServiceProcess): Promise<readonly SeenPet[]> {
    const pets: SeenPet[] = [];
    const until = performance.now() + END_MS;
    for (;;) {
      const page = await this.#page({ after: pets.at(-1)?.id ?? 0, limit: 100 }, process);
      if (page?.length === 0) return pets;
      if (page !== undefined) pets.push(...page);
      assert.ok(performance.now() < until, this.history.violation ?? 'a process does not work');
      if (page === undefined) await sleep(100);
    }
  }

  /** Records a response that faults do not explain as a violation. */
  async #ask(path: string, init: RequestInit = {}, process = this.#process()): Promise<Answer> {
    const answer = await process.request(path, init);
    if (answer === undefined) return undefined;
    const [status, body] = answer;
    const text = JSON.stringify(body);
    const isExpected = [200, 201, 503].includes(status) || text.includes('outcome_unknown');
    if (!isExpected) this.history.violated(`${status} ${text}`);
    return answer;
  }

  #process(): ServiceProcess {
    return this.#random.pick(this.world.processes);
  }

  #newName(): string {
    this.#names += 1;
    return `pet-${this.#names}`;
  }
}

async function live(t: TestContext, ms: number, seed: number, fault?: PlantedFault) {
  const { endpoints } = cluster;
  const prefix = `random-${(prefixes += 1)}/`;
  await initEtcd({ endpoints, prefix });
  const links = await Promise.all(
    Array.from({ length: PROCESSES }, () => startLinks(t, endpoints)),
  );
  const program = fault === undefined ? SERVER_JS : brokenServer(t, fault);
  const life = new Life(cluster, links, { program, prefix, seed });
  try {
    const counts = await life.run(ms, fault === undefined);
    return { history: life.history, counts };
  } finally {
    await Promise.all(life.world.processes.map((process) => process.close()));
  }
}

test(
  `All responses during ${SECONDS} s of faults are those of one log (seed ${SEED})`,
  { skip: withoutEtcd, timeout: (SECONDS + 120) * 1000 },
  async (t) => {
    const { history, counts } = await live(t, SECONDS * 1000, SEED);
    t.diagnostic(`${history.length} responses, ${history.lastId} pets, ${JSON.stringify(counts)}`);
    assert.ok(history.length > 5 * SECONDS, `${history.length} responses`);
  },
);

const PLANTED: readonly (PlantedFault & { what: string })[] = [
  {
    what: 'a read that skips the barrier',
    file: 'stores/etcd/etcd-log.js',
    from: 'return this.#barrier.wait();',
    to: 'return Promise.resolve();',
  },
  {
    what: 'a slot that is overwritten',
    file: 'stores/etcd/commit-writer.js',
    from: '[...log.compares, ifAbsent(slot)]',
    to: 'log.compares',
  },
  {
    what: 'an idempotency key that is not looked up again after a conflict',
    file: 'stores/etcd/commit-writer.js',
    from: 'rest = rest.filter(',
    to: 'if (rest === creates) rest = rest.filter(',
  },
];

/** Which one is found first depends on the moment. */
const CONTRADICTIONS =
  /not linearizable|was seen as|has lost the log|never acknowledged|have a gap|was refused/;

for (const { what, ...fault } of PLANTED) {
  test(`The random test finds ${what}`, { skip: withoutEtcd, timeout: 120_000 }, async (t) => {
    // Two clients have to meet at the right time, which may take more than one life.
    const life = async (): Promise<void> => {
      for (let life = 0; life < 10; life += 1) await live(t, 1_000, SEED + life, fault);
    };
    await assert.rejects(life, CONTRADICTIONS);
  });
}
