/**
 * The load generator: sends one request again and again over several connections, each waiting for
 * its response before the next, checks every response, and prints a line of JSON with the rate.
 *
 *     node load.mjs '{"port":8080,"request":"GET / HTTP/1.1\r\n…","connections":64,"seconds":1}'
 *
 * Without an argument it takes such jobs from standard input, a line each, and stays warm for them.
 * A job may have the `status` (200) and `bodyBytes` (any) of the responses. `{n}` in a request is
 * another number each time.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const HEADER = /^HTTP\/1\.1 ([0-9]{3}) [^]*?\r\ncontent-length: *([0-9]+)\r\n(?:[^]*?\r\n)?\r\n/i;
/** The header of a response is shorter. */
const HEADER_BYTES = 1024;

let number = 0;

const [, , onlyJob] = process.argv;
for await (const line of onlyJob === undefined ? createInterface(process.stdin) : [onlyJob]) {
  const job = { status: 200, ...JSON.parse(line) };
  const sockets = Array.from({ length: job.connections }, () => connect(job.port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  console.log(JSON.stringify(await burst(job, sockets)));
}

/**
 * Keeps all sockets busy until the time is over, and waits for the last responses.
 * @param {import('./paired.mjs').Job & { seconds: number }} job
 * @param {import('node:net').Socket[]} sockets
 */
async function burst(job, sockets) {
  const startedAt = performance.now();
  const endAt = startedAt + 1000 * job.seconds;
  let answers = 0;
  /**
   * @param {import('node:net').Socket} socket
   * @returns {Promise<void>}
   */
  const keepBusy = (socket) =>
    new Promise((resolve) => {
      /** @type {Buffer | undefined} */
      let bytes;
      const send = () => {
        number += 1;
        socket.write(job.request.replace('{n}', `${number}`.padStart(12, '0')), 'latin1');
      };
      socket.on('data', (/** @type {Buffer} */ chunk) => {
        bytes = bytes === undefined ? chunk : Buffer.concat([bytes, chunk]);
        const missing = missingBytes(bytes, job);
        if (missing > 0) return;
        if (missing < 0) fail('More bytes came than the response has');
        bytes = undefined;
        answers += 1;
        if (performance.now() < endAt) send();
        else resolve();
      });
      socket.on('error', (error) => fail(error.message));
      socket.on('end', () => fail('The server closed a connection'));
      socket.setNoDelay(true);
      send();
    });
  await Promise.all(sockets.map(keepBusy));
  const rate = (1000 * answers) / (performance.now() - startedAt);
  for (const socket of sockets) socket.destroy();
  return { rate, answers };
}

/**
 * Returns how many bytes of a response have not come yet, and fails if it is a wrong one.
 * @param {Buffer} bytes
 * @param {import('./paired.mjs').Job} job
 */
function missingBytes(bytes, job) {
  const text = bytes.toString('latin1', 0, HEADER_BYTES);
  const [header, status, length] = HEADER.exec(text) ?? [];
  if (header === undefined) return Infinity;
  if (Number(status) !== job.status) fail(`Got ${text}`);
  if (job.bodyBytes !== undefined && Number(length) !== job.bodyBytes) {
    fail(`The body has ${length} bytes, not ${job.bodyBytes}`);
  }
  return header.length + Number(length) - bytes.length;
}

/** @param {string} complaint */
function fail(complaint) {
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}
