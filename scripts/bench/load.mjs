/**
 * The load generator: a process of its own that sends the same request over several connections,
 * each waiting for its answer before the next, and checks every answer.
 *
 *     node load.mjs '{"port":8080,"request":"GET / HTTP/1.1\r\n…","connections":64,"seconds":3}'
 *
 * Options: `status` (200) and `bodyBytes` (any) that every answer must have; `count` to stop after
 * so many answers; `paused` to wait for a line on standard input before it begins. It prints one
 * line of JSON: answers a second and latencies in microseconds.
 */

import { connect } from 'node:net';

const HEADER_END = Buffer.from('\r\n\r\n');
const LENGTH_FIELD = Buffer.from('\r\nContent-Length: ');
const ANY_CASE_LENGTH = /\r\ncontent-length: *([0-9]+)/i;

const options = {
  status: 200,
  connections: 1,
  seconds: 1,
  warmupSeconds: 0,
  ...JSON.parse(process.argv[2]),
};
const request = Buffer.from(options.request, 'latin1');
const latencies = new Float64Array(1 << 22);
const sockets = [];
let answers = 0;
let measuring = options.warmupSeconds === 0;
let startedAt = performance.now();
let isOver = false;

for (let i = 0; i < options.connections; i += 1) sockets.push(open());
if (!measuring) setTimeout(beginMeasuring, options.warmupSeconds * 1000);
const endTimer = setTimeout(finish, (options.warmupSeconds + options.seconds) * 1000);

function beginMeasuring() {
  answers = 0;
  measuring = true;
  startedAt = performance.now();
}

function open() {
  let rest;
  let sentAt = 0;
  const socket = connect(options.port, '127.0.0.1');
  socket.setNoDelay(true);
  const send = () => {
    sentAt = performance.now();
    socket.write(request);
  };
  socket.on('connect', send);
  socket.on('error', (error) => isOver || fail(error.message));
  socket.on('close', () => isOver || fail('The server closed a connection'));
  socket.on('data', (chunk) => {
    if (rest !== undefined) chunk = Buffer.concat([rest, chunk]);
    const size = answerSize(chunk);
    if (size === undefined || chunk.length < size) {
      rest = chunk;
      return;
    }
    if (chunk.length > size) fail('More bytes came than the answer has');
    rest = undefined;
    if (measuring && answers < latencies.length) latencies[answers] = performance.now() - sentAt;
    answers += 1;
    if (answers === options.count && measuring) finish();
    if (!isOver) send();
  });
  return socket;
}

/** The length of the answer that the bytes begin with; undefined while its header is not whole. */
function answerSize(bytes) {
  const end = bytes.indexOf(HEADER_END);
  if (end === -1) return undefined;
  const status = (bytes[9] - 48) * 100 + (bytes[10] - 48) * 10 + (bytes[11] - 48);
  if (status !== options.status) fail(`Answered ${bytes.toString('latin1')}`);
  let length = 0;
  const at = bytes.indexOf(LENGTH_FIELD);
  if (at !== -1 && at < end) {
    for (let i = at + LENGTH_FIELD.length; bytes[i] !== 13; i += 1)
      length = length * 10 + bytes[i] - 48;
  } else {
    length = Number(ANY_CASE_LENGTH.exec(bytes.toString('latin1', 0, end + 2))?.[1] ?? NaN);
  }
  if (options.bodyBytes !== undefined && length !== options.bodyBytes) {
    fail(`The body has ${length} bytes, not ${options.bodyBytes}`);
  }
  return end + HEADER_END.length + length;
}

function finish() {
  if (isOver) return;
  if (answers === 0) fail('No answer came in time');
  isOver = true;
  clearTimeout(endTimer);
  const seconds = (performance.now() - startedAt) / 1000;
  const sorted = latencies.subarray(0, Math.min(answers, latencies.length)).sort();
  const percentile = (share) =>
    Math.round(1000 * (sorted[Math.floor(share * (sorted.length - 1))] ?? 0));
  const result = {
    rate: answers / seconds,
    answers,
    p50: percentile(0.5),
    p99: percentile(0.99),
    max: percentile(1),
  };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  for (const socket of sockets) socket.destroy();
}

function fail(complaint) {
  isOver = true;
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}
