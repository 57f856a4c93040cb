/**
 * The process of bench/way.mjs: servers of node:http on sockets in memory, in turns.
 *
 *     slice:  one batch of requests to one server   │ ours theirs │ theirs ours │ ours theirs │ …
 *
 * Prints a line of JSON: for each of the jobs, the pairs [ours, theirs] of microseconds a request.
 */

import { Buffer } from 'node:buffer';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { floorListener } from './floors.mjs';

const CONNECTIONS = 50;
/** Requests: four on each connection, each sent after the response to the one before. */
const BATCH = 200;

const { dists, dataFiles, scenarios, kinds, warmUps, slices } = JSON.parse(process.argv[2]);

/** The client's side of a connection in memory; the other side is the server's. */
class MemorySocket extends Duplex {
  receivedBytes = 0;
  received;

  _read() {}

  _write(chunk, _encoding, callback) {
    this.receivedBytes += chunk.length;
    this.received?.push(chunk);
    callback();
  }

  setNoDelay() {}
  setKeepAlive() {}
  setTimeout() {}
}

/** A client of a server. A batch ends when all responses are complete. */
function connectClient(server, path) {
  const request = Buffer.from(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bench\r\n\r\n`,
  );
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = new MemorySocket();
    server.emit('connection', socket);
    return socket;
  });
  const sum = () => sockets.reduce((total, { receivedBytes }) => total + receivedBytes, 0);
  return {
    /** The bytes of a response. */
    async answer() {
      const [socket] = sockets;
      socket.received = [];
      socket.push(request);
      await whenIdle(() => socket.receivedBytes);
      const bytes = Buffer.concat(socket.received);
      socket.received = undefined;
      return bytes;
    },
    /** Microseconds per request. */
    async batch(answerBytes) {
      let due = sum();
      const startedAt = performance.now();
      for (let sent = 0; sent < BATCH; sent += CONNECTIONS) {
        for (const socket of sockets) socket.push(request);
        due += CONNECTIONS * answerBytes;
        do await nextTurn();
        while (sum() < due);
      }
      const micros = (1000 * (performance.now() - startedAt)) / BATCH;
      if (sum() !== due) throw new Error(`${path}: ${sum() - due} bytes too many`);
      return micros;
    },
  };
}

function nextTurn() {
  return new Promise((resolve) => setImmediate(resolve));
}

async function whenIdle(count) {
  for (let idle = 0, last = -1; idle < 20; idle += 1) {
    if (count() !== last) idle = 0;
    last = count();
    await nextTurn();
  }
}

/** The service from a folder such as dist/, with its own data file. */
async function openService(dist, dataFile) {
  const main = ['index.js', 'app.js'].find((name) => existsSync(join(dist, name)));
  const { openApp, createHttpServer } = await import(pathToFileURL(join(dist, main)).href);
  const app = await openApp({ dataFile, apiKeys: ['bench'] });
  return createHttpServer(app.listener);
}

/** A floor that sends the same bytes for every request. */
function openFloor(kind, answer) {
  const text = answer.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const fields = text
    .slice(0, end)
    .split('\r\n')
    .slice(1)
    .filter((line) => !/^(Date|Connection|Keep-Alive):/.test(line))
    .flatMap((line) => line.split(': '));
  const body = answer.subarray(end + 4).toString();
  const options = { keepAliveTimeout: 65_000, optimizeEmptyRequests: kind === 'fastest' };
  return createServer(options, floorListener(kind, fields, body));
}

const servers = [];
for (const [i, dist] of dists.entries()) servers.push(await openService(dist, dataFiles[i]));
const results = [];
for (const { what, path } of scenarios) {
  const ours = connectClient(servers[0], path);
  const answer = await ours.answer();
  if (!answer.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(answer.toString());
  for (const kind of kinds) {
    const server = kind === 'other build' ? servers[1] : openFloor(kind, answer);
    const theirs = connectClient(server, path);
    const theirAnswer = await theirs.answer();
    const sides = [() => ours.batch(answer.length), () => theirs.batch(theirAnswer.length)];
    const pairs = [];
    for (let slice = -warmUps; slice < slices; slice += 1) {
      const pair = [];
      for (const side of slice % 2 === 0 ? [0, 1] : [1, 0]) pair[side] = await sides[side]();
      if (slice >= 0) pairs.push(pair);
    }
    results.push({ what, kind, pairs });
  }
}
process.stdout.write(`${JSON.stringify(results)}\n`);
process.exit();
