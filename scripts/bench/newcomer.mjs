/**
 * Clients beside a flood: every 50 ms one opens a connection and requests /livez, and another one
 * does so on a connection that is older than the flood, behind idle ones that are older still.
 *
 * Prints a line when it is connected. At the end of its input it stops to ask, and prints the waits
 * of both in ms, with how many got no response.
 */

import { once } from 'node:events';
import { connect } from 'node:net';

const EVERY_MS = 50;
const REQUEST = 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n';
const { port, idle } = JSON.parse(process.argv[2]);
const waits = { newcomer: [], established: [] };
const lost = { newcomer: 0, established: 0 };

/** Resolves when the socket has received something, or is closed. */
async function ask(socket, who) {
  const startedAt = performance.now();
  socket.write(REQUEST);
  const isAnswered = await new Promise((resolve) => {
    const listen = (on) => socket[on]('data', onData)[on]('close', onClose);
    const end = (result) => {
      listen('off');
      resolve(result);
    };
    const onData = () => end(true);
    const onClose = () => end(false);
    listen('on');
  });
  if (isAnswered) waits[who].push(Math.ceil(performance.now() - startedAt));
  else lost[who] += 1;
}

const open = () => connect(port, '127.0.0.1').on('error', () => undefined);
for (let opened = 0; opened < idle; opened += 1) await once(open(), 'connect');
const established = open();
await once(established, 'connect');
await ask(established, 'established');
waits.established.length = 0;
console.log('{}');

const asked = new Set();
const track = (promise) => {
  asked.add(promise);
  promise.finally(() => asked.delete(promise));
};
let isAsking = false;
const timer = setInterval(() => {
  const socket = open();
  track(ask(socket, 'newcomer').then(() => socket.destroy()));
  if (isAsking || established.destroyed) return;
  isAsking = true;
  track(ask(established, 'established').finally(() => (isAsking = false)));
}, EVERY_MS);
process.stdin.resume().on('end', async () => {
  clearInterval(timer);
  await Promise.all(asked);
  console.log(JSON.stringify({ waits, lost }));
  process.exit();
});
