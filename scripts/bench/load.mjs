/**
 * The load generator: sends one request again and again over several connections, each waiting for
 * its answer before the next, checks every answer, and prints a line of JSON with what it measured.
 *
 *     node load.mjs '{"port":8080,"request":"GET / HTTP/1.1\r\n…","connections":64,"seconds":1}'
 *
 * Without an argument it takes such jobs from standard input, a line each, and stays warm for them.
 * A job may have the `status` (200) and `bodyBytes` (any) of the answers, and a `count` of them to
 * stop at. Latencies are in microseconds.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const HEADER_END = Buffer.from('\r\n\r\n');
const LENGTH_FIELD = Buffer.from('\r\nContent-Length: ');
const ANY_CASE_LENGTH = /\r\ncontent-length: *([0-9]+)/i;
const PATIENCE_MS = 30_000;

const latencies = new Float64Array(1 << 22);

const [, , onlyJob] = process.argv;
for await (const line of onlyJob === undefined ? createInterface(process.stdin) : [onlyJob]) {
  const job = { status: 200, connections: 1, seconds: 1, count: Infinity, ...JSON.parse(line) };
  const sockets = Array.from({ length: job.connections }, () => connect(job.port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  process.stdout.write(`${JSON.stringify(await burst(job, sockets))}\n`);
}

/** Keeps all sockets asking until the time is over, and waits for the last answers. */
async function burst(job, sockets) {
  const request = Buffer.from(job.request, 'latin1');
  const startedAt = performance.now();
  const endAt = startedAt + 1000 * job.seconds;
  let sent = 0;
  let answers = 0;
  const ask = (socket) =>
    new Promise((resolve) => {
      let rest;
      let sentAt;
      const send = (now) => {
        sent += 1;
        sentAt = now;
        socket.write(request);
      };
      socket.on('data', (chunk) => {
        if (rest !== undefined) chunk = Buffer.concat([rest, chunk]);
        const size = answerSize(chunk, job);
        if (size === undefined || chunk.length < size) {
          rest = chunk;
          return;
        }
        if (chunk.length > size) fail('More bytes came than the answer has');
        rest = undefined;
        const now = performance.now();
        latencies[answers] = now - sentAt;
        answers += 1;
        if (now < endAt && sent < job.count) send(now);
        else resolve();
      });
      socket.on('error', (error) => fail(error.message));
      socket.on('end', () => fail('The server closed a connection'));
      socket.setNoDelay(true);
      send(performance.now());
    });
  const patience = setTimeout(fail, 1000 * job.seconds + PATIENCE_MS, 'No answer came in time');
  await Promise.all(sockets.map(ask));
  clearTimeout(patience);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const socket of sockets) socket.destroy();
  const sorted = latencies.subarray(0, answers).sort();
  const percentile = (share) => Math.round(1000 * sorted[Math.floor(share * (sorted.length - 1))]);
  const [p50, p99, max] = [0.5, 0.99, 1].map(percentile);
  return { rate: answers / seconds, answers, p50, p99, max };
}

/** The length of the answer that the bytes begin with; undefined while its header is not whole. */
function answerSize(bytes, job) {
  const end = bytes.indexOf(HEADER_END);
  if (end === -1) return undefined;
  const status = (bytes[9] - 48) * 100 + (bytes[10] - 48) * 10 + (bytes[11] - 48);
  if (status !== job.status) fail(`Answered ${bytes.toString('latin1')}`);
  let length = 0;
  const at = bytes.indexOf(LENGTH_FIELD);
  if (at !== -1 && at < end) {
    for (let i = at + LENGTH_FIELD.length; bytes[i] !== 13; i += 1) {
      length = length * 10 + bytes[i] - 48;
    }
  } else {
    length = Number(ANY_CASE_LENGTH.exec(bytes.toString('latin1', 0, end + 2))?.[1] ?? NaN);
  }
  if (job.bodyBytes !== undefined && length !== job.bodyBytes) {
    fail(`The body has ${length} bytes, not ${job.bodyBytes}`);
  }
  return end + HEADER_END.length + length;
}

function fail(complaint) {
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}
