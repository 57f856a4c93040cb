/**
 * Idempotency keys: creates with a new key each against creates without, the memory of a key, and
 * the time of a key in a table of ten, of 100,000 and of one more.
 */

import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { freshData } from './data.mjs';
import { startServer } from './processes.mjs';
import { figure, summary } from './table.mjs';

const BODY = '{"name":"Pet 1234567","categoryId":42,"status":"available"}';
/** After so many creates the code of creates with a key is compiled, too. */
const WARMUP_SECONDS = 4;
const MAX_KEYS = 100_000;

export async function measureKeys(bench) {
  const rows = [];
  for (const connections of [1, 64]) {
    const rates = { keyed: [], plain: [] };
    const perCpuSecond = { keyed: [], plain: [] };
    for (let round = 0; round < bench.rounds; round += 1) {
      const kinds = round % 2 === 0 ? ['keyed', 'plain'] : ['plain', 'keyed'];
      for (const kind of kinds) {
        bench.progress(`keys: ${connections} connections, round ${round + 1}, ${kind}`);
        const measured = await measureOne(bench, kind === 'keyed', connections);
        rates[kind].push(measured.rate);
        perCpuSecond[kind].push(measured.perCpuSecond);
      }
    }
    const what = `create with a key, ${connections} connection${connections === 1 ? '' : 's'}`;
    rows.push(rowOf(`${what}, rate`, rates, '/s'));
    rows.push(rowOf(`${what}, in a second of processor time`, perCpuSecond, ''));
  }
  bench.progress('');
  await tellOfTable();
  return [{ title: 'Creates with an idempotency key', rows }];
}

function rowOf(what, { keyed, plain }, unit) {
  const goal = '≥ 0.95';
  const ratios = keyed.map((value, round) => value / plain[round]);
  const [ours, theirs] = [keyed, plain].map((all) => Math.round(summary(all).median));
  const absolute = `${ours} : ${theirs}${unit}`;
  return { what, against: 'without one', goal, figure: figure(ratios, 2, goal), absolute };
}

async function measureOne(bench, isKeyed, connections) {
  const path = freshData(bench.folder, 'keys', 0);
  const server = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path });
  const load = startLoad(server.port, isKeyed, connections);
  await sleep(1000 * WARMUP_SECONDS);
  const before = load.answers();
  const processorUsBefore = server.processorUs();
  const startedAt = performance.now();
  await sleep(1000 * bench.seconds);
  const answers = load.answers() - before;
  const rate = answers / ((performance.now() - startedAt) / 1000);
  const perCpuSecond = (1e6 * answers) / (server.processorUs() - processorUsBefore);
  load.stop();
  await server.stop();
  return { rate, perCpuSecond };
}

/** As load.mjs, except that each request has a new key, or a field of the same length. */
function startLoad(port, isKeyed, connections) {
  let answers = 0;
  let sent = 0;
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    const send = () => {
      const key = `8e03978e-40d5-43dd-bc93-${String((sent += 1)).padStart(12, '0')}`;
      socket.write(
        'POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bench\r\n' +
          `${isKeyed ? 'Idempotency-Key' : 'X-Something-Els'}: ${key}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      );
    };
    socket.on('connect', send);
    socket.on('error', () => undefined);
    // One small response is in progress at a time, and arrives in one piece.
    socket.on('data', (chunk) => {
      const start = chunk.latin1Slice(0, 13);
      if (start !== 'HTTP/1.1 201 ') throw new Error(`Answered ${chunk.toString()}`);
      answers += 1;
      send();
    });
    return socket;
  });
  return {
    answers: () => answers,
    stop: () => sockets.forEach((socket) => socket.destroy()),
  };
}

/** Measures the memory of the key table, and the time of a key in it. */
async function tellOfTable() {
  const { KeyTable } = await import('../../dist/stores/idempotency/key-table.js');
  const clock = { now: () => 0, timeOfDay: () => 0 };
  const before = usedBytes();
  const table = new KeyTable(clock);
  const add = (id) => table.add({ key: keyOf(id), id: BigInt(id), expiresAt: 1e9, petCrc: id });
  console.log('');
  let id = 0;
  for (const goal of [10, MAX_KEYS, MAX_KEYS + 1, 2 * MAX_KEYS]) {
    while (id < goal) add((id += 1));
    const keys = Array.from({ length: 1000 }, (_, i) => keyOf(id - (i % Math.min(id, 1000))));
    const found = timed(() => keys.forEach((key) => table.find(key)));
    console.log(`${goal} keys came, ${table.length} are held: ${found.toFixed(2)} µs to find one`);
  }
  const added = timed(() => {
    for (let i = 0; i < 1000; i += 1) add((id += 1));
  });
  console.log(`A new key, another one going: ${added.toFixed(2)} µs, its hash included`);
  const bytes = (usedBytes() - before) / MAX_KEYS;
  console.log(`A key takes ${bytes.toFixed(0)} bytes of memory`);
}

/** The bytes of the heap after a collection. */
function usedBytes() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

/** Microseconds of each of a thousand calls, as the median of many runs. */
function timed(work) {
  const times = Array.from({ length: 101 }, () => {
    const startedAt = performance.now();
    work();
    return performance.now() - startedAt;
  });
  return summary(times).median;
}

function keyOf(number) {
  return createHash('sha256').update(String(number)).digest('hex').slice(0, 32);
}
