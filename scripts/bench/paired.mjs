/**
 * Comparisons of two contenders that take turns in short bursts.
 *
 *     start both, warm up │ ours theirs │ theirs ours │ ours theirs │ … │ stop both
 *
 * Both are up at once, and a ratio is that of neighbours: what else the machine does in that second
 * affects both. A round begins with fresh processes, since the same code is compiled faster in one
 * than in another. Both have had the same number of bursts at all times, since that decides how
 * much of their code is compiled: compared with several others in turn, a server is ahead of each.
 */

import { processorUsOf, startServer } from './processes.mjs';
import { figure, median } from './table.mjs';

/** @import { Row } from './table.mjs' */

/**
 * What a part of the bench gets.
 * @typedef {object} Bench
 * @property {number} rounds
 * @property {number} seconds of a burst
 * @property {number} turns
 * @property {number} warmUps
 * @property {string} folder for files of the bench
 * @property {ReturnType<typeof import('./processes.mjs').startScript>} load the load generator
 * @property {string} dist
 * @property {string} only what the names of rows contain that are measured
 * @property {string} [against] the dist/ of another build
 * @property {string} [contenders] where fastify is installed
 * @property {(text: string) => void} progress
 *
 * @typedef {Record<string, number>} Figures
 * @typedef {{ burst: () => Promise<Figures>, stop?: () => Promise<void> }} Running
 * @typedef {() => Promise<Running>} Contender
 * @typedef {Record<string, readonly [contender: Contender, ...goals: string[]]>} Opponents
 *
 * What load.mjs sends in a burst, and expects.
 * @typedef {object} Job
 * @property {string} request
 * @property {number} connections
 * @property {number} [bodyBytes]
 * @property {number} [status]
 */

/** The figures of bursts. Processor time changes less with what else runs. */
/** @type {Record<string, string>} */
const UNITS = {
  rate: '/s',
  perProcessorSecond: '/CPU s',
  openMs: ' ms',
  peakMb: ' MB at the peak',
};
const OVER_HTTP = ['rate', 'perProcessorSecond'];

/**
 * Resolves with the pairs [ours, theirs] of what two functions resolve with.
 * @template T
 * @param {readonly [ours: () => Promise<T>, theirs: () => Promise<T>]} sides
 * @param {{ warmUps: number, turns: number }} counts
 */
export async function takeTurns([ours, theirs], { warmUps, turns }) {
  /** @type {[ours: T, theirs: T][]} */
  const pairs = [];
  for (let turn = -warmUps; turn < turns; turn += 1) {
    const isOursFirst = turn % 2 === 0;
    const first = await (isOursFirst ? ours : theirs)();
    const second = await (isOursFirst ? theirs : ours)();
    if (turn >= 0) pairs.push(isOursFirst ? [first, second] : [second, first]);
  }
  return pairs;
}

/**
 * Compares a contender with each opponent, `{ name: [contender, goal, …] }`: a goal for each
 * figure, or one for all. Resolves with a row: our medians, and the ratios in a cell for each
 * opponent. A contender is a function that resolves with `{ burst, stop? }` when it has started;
 * `burst` resolves with figures.
 * @param {Bench} bench
 * @param {string} What
 * @param {Contender} ours
 * @param {Opponents} opponents
 * @param {string[]} keys
 */
export async function compare(bench, What, ours, opponents, keys = OVER_HTTP) {
  /** @type {Row} */
  const row = { What };
  for (const [name, [theirs, ...goals]] of Object.entries(opponents)) {
    /** @type {[Figures, Figures][]} */
    const pairs = [];
    for (let round = 0; round < bench.rounds; round += 1) {
      bench.progress(`${What}, against ${name}: round ${round + 1}`);
      const running = await Promise.all([ours(), theirs()]);
      const [own, other] = running;
      pairs.push(...(await takeTurns([own.burst, other.burst], bench)));
      for (const { stop } of running) await stop?.();
    }
    /** @param {string} key */
    const medianOf = (key) => median(pairs.map(([own]) => own[key] ?? NaN)).toFixed(0);
    row['ours'] ??= keys.map((key) => medianOf(key) + UNITS[key]).join('; ');
    const ratios = keys.map((key, i) => {
      const values = pairs.map(([own, other]) => (own[key] ?? NaN) / (other[key] ?? NaN));
      return figure(values, goals[i] ?? goals[0]);
    });
    row[name] = ratios.join('; ');
  }
  return row;
}

/**
 * A server of servers.mjs as a contender. The job is what load.mjs sends in a burst.
 * @param {Bench} bench
 * @param {import('./servers.mjs').Kind} kind
 * @param {import('./processes.mjs').ServerOptions} options
 * @param {Job} job
 * @returns {Contender}
 */
export function contender(bench, kind, options, job) {
  return async () => {
    const { port, pid, stop } = await startServer(bench, kind, options);
    const burst = async () => {
      const before = processorUsOf(pid);
      const figures = await bench.load.ask({ port, seconds: bench.seconds, ...job });
      const seconds = (processorUsOf(pid) - before) / 1e6;
      return { ...figures, perProcessorSecond: figures.answers / seconds };
    };
    return { burst, stop };
  };
}

/**
 * The service as a contender, with this many pets, from its build or another.
 * @param {Bench} bench
 * @param {number} pets
 * @param {Job} job
 */
export function service(bench, pets, job, dist = bench.dist) {
  return contender(bench, 'service', { dist, pets }, job);
}

/**
 * A call as a contender, made again and again, one after the other.
 * @param {Bench} bench
 * @param {() => unknown} call
 * @returns {Contender}
 */
export function loop({ seconds }, call) {
  const burst = async () => {
    const startedAt = performance.now();
    let count = 0;
    for (; performance.now() < startedAt + 1000 * seconds; count += 1) await call();
    return { rate: (1000 * count) / (performance.now() - startedAt) };
  };
  return async () => ({ burst });
}

/**
 * The job of a GET over so many connections, with so many bytes in a response's body.
 * @param {string} path
 * @param {number} connections
 * @param {number} [bodyBytes]
 * @returns {Job}
 */
export function get(path, connections = 1, bodyBytes) {
  const request = requestText('GET', path, '');
  return { request, connections, ...(bodyBytes === undefined ? {} : { bodyBytes }) };
}

/**
 * The job of creates: each request has an idempotency key, or a field of the same length.
 * @param {number} connections
 * @returns {Job}
 */
export function create(connections, isKeyed = false) {
  const body = '{"name":"Pet 1234567","categoryId":42,"status":"available"}';
  const key = `${isKeyed ? 'Idempotency-Key' : 'X-Something-Els'}: 8e03978e-40d5-43dd-bc93-{n}\r\n`;
  const fields = `${key}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return { request: requestText('POST', '/v1/pets', fields) + body, connections, status: 201 };
}

/**
 * @param {string} method
 * @param {string} path
 * @param {string} fields
 */
function requestText(method, path, fields) {
  const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bench\r\n`;
  return `${head}${fields}\r\n`;
}
