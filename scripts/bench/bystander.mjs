/**
 * A client beside others that are a burden: does the service still have time for it?
 *
 * It asks for /livez every 2 ms until its input ends; then it prints how often it asked, and its
 * longest wait in ms.
 */

import { connect } from 'node:net';

const socket = connect(Number(process.argv[2]), '127.0.0.1').setNoDelay(true);
let asked = 0;
let longestMs = 0;
let askedAt = 0;

function ask() {
  askedAt = performance.now();
  socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
}

socket.on('connect', ask);
socket.on('data', () => {
  asked += 1;
  longestMs = Math.max(longestMs, Math.ceil(performance.now() - askedAt));
  setTimeout(ask, 2);
});
process.stdin.resume().on('end', () => {
  console.log(JSON.stringify({ asked, longestMs }));
  process.exit();
});
