/**
 * A client beside floods: every 50 ms it opens a connection and asks for /livez, for so many
 * seconds; then it prints its longest wait in ms, and how many got no answer.
 */

import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const EVERY_MS = 50;
const { port, seconds } = JSON.parse(process.argv[2]);
const waits = [];

function ask() {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    let isAnswered = false;
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    socket.on('data', () => (isAnswered = true));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      waits.push({ isAnswered, ms: performance.now() - startedAt });
      resolve();
    });
  });
}

const asked = [];
const endsAt = performance.now() + 1000 * seconds;
while (performance.now() < endsAt) {
  asked.push(ask());
  await sleep(EVERY_MS);
}
await Promise.all(asked);
const longestMs = Math.ceil(Math.max(...waits.map(({ ms }) => ms)));
const unanswered = waits.filter(({ isAnswered }) => !isAnswered).length;
console.log(JSON.stringify({ longestMs, unanswered, asked: waits.length }));
