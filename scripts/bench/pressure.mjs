/**
 * Pressure: many connections, slow ones, long pipelines and a burst of creates.
 *
 * Each case gets its own service. A row has the result for the case and for other clients, and the
 * growth of memory; there are no ratios here.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { creates, reads } from './contenders.mjs';
import { freshData } from './data.mjs';
import { measure, startServer, textOf } from './processes.mjs';

const CONNECTIONS = 1000;
const BURST = 10_000;
const BURST_CONNECTIONS = 500;
const PIPELINE_BYTES = 1 << 20;
const SLOW_READERS = 100;
const FLOOD_BYTES = 30e6;
const SHORT_REQUEST = 'GET / HTTP/1.1\r\nHost:a\r\n\r\n';

export async function measurePressure(bench) {
  const rows = [];
  const run = async (what, work) => {
    bench.progress(`pressure: ${what}`);
    const path = freshData(bench.folder, 'pressure', 1000);
    const server = await startServer(bench.node, 'serve-petstore.mjs', { kind: 'file', path });
    const before = server.memory().resident;
    const said = await work(server.port);
    const grown = Math.round((server.memory().peak - before) / 1e6);
    rows.push({ what, figure: `${said}; memory +${grown} MB at most` });
    await server.stop();
  };
  await run(`${CONNECTIONS} connections reading`, async (port) => {
    const load = { ...reads('/v1/pets', CONNECTIONS), port };
    await measure({ ...load, seconds: 1 });
    const { rate, p50, p99 } = await measure({ ...load, seconds: 2 });
    return `${Math.round(rate)}/s, p50 ${p50} µs, p99 ${p99} µs`;
  });
  await run(`${BURST} creates over ${BURST_CONNECTIONS} connections`, async (port) => {
    const load = { ...creates(BURST_CONNECTIONS), port, count: BURST, seconds: 60 };
    const { answers, p50, p99 } = await measure(load);
    return `${answers} answered with 201, p50 ${p50} µs, p99 ${p99} µs`;
  });
  await run('1 MB of pipelined requests', async (port) => {
    const request = textOf({ path: '/v1/pets/1' });
    const count = Math.ceil(PIPELINE_BYTES / request.length);
    const socket = connect(port, '127.0.0.1');
    let received = '';
    let answers = 0;
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const last = received.lastIndexOf('HTTP/1.1 200');
      answers += received.slice(0, last).split('HTTP/1.1 200').length - 1;
      received = received.slice(Math.max(last, 0));
    });
    socket.write(request.repeat(count));
    for (let waited = 0; answers + 1 < count && waited < 300; waited += 1) await sleep(100);
    socket.destroy();
    return `${answers + 1} of ${count} requests answered`;
  });
  await run(
    `${FLOOD_BYTES / 1e6} MB of requests of ${SHORT_REQUEST.length} bytes`,
    async (port) => {
      const answerBytes = await lengthOfAnswer(port);
      const bystander = startBystander(port);
      const flooder = connect(port, '127.0.0.1').resume();
      await once(flooder, 'connect');
      const count = Math.round(FLOOD_BYTES / SHORT_REQUEST.length);
      const chunk = Buffer.from(SHORT_REQUEST.repeat(2000));
      const startedAt = performance.now();
      for (let sent = 0; sent < count; sent += 2000) {
        if (!flooder.write(chunk)) await once(flooder, 'drain');
      }
      while (flooder.bytesRead < Math.ceil(count / 2000) * 2000 * answerBytes) await sleep(20);
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      flooder.destroy();
      const { asked, longestMs } = await bystander.stop();
      const other = `another client asked ${asked} times and waited ${longestMs} ms at the longest`;
      return `all answered in ${seconds} s, ${other}`;
    },
  );
  await run(`${SLOW_READERS} clients that do not read`, async (port) => {
    const sockets = Array.from({ length: SLOW_READERS }, () => connect(port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const request = textOf({ path: '/v1/pets?limit=100' });
    for (const socket of sockets)
      socket
        .pause()
        .on('error', () => undefined)
        .write(request.repeat(1000));
    const { answers, p99, max } = await measure({ ...reads('/v1/pets', 8), port, seconds: 4 });
    for (const socket of sockets) socket.destroy();
    return `others got ${answers} answers, p99 ${p99} µs, longest ${max} µs`;
  });
  await run(`${CONNECTIONS} connections whose headers do not end`, async (port) => {
    const load = { ...reads('/v1/pets', 1), port, seconds: 4 };
    await measure({ ...load, seconds: 1 });
    const idle = await measure(load);
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) {
      socket.on('error', () => undefined).write('GET /v1/pets HTTP/1.1\r\nHost: a\r\n');
    }
    const feed = setInterval(() => sockets.forEach((socket) => socket.write('X: y\r\n')), 1000);
    const { p99 } = await measure(load);
    clearInterval(feed);
    for (const socket of sockets) socket.destroy();
    return `p99 of another client ${p99} µs, alone ${idle.p99} µs`;
  });
  return [{ title: 'Under pressure', rows }];
}

async function lengthOfAnswer(port) {
  const socket = connect(port, '127.0.0.1');
  socket.write(SHORT_REQUEST);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  return answer.length;
}

/** A client in a separate process that repeats a request and records its longest wait. */
function startBystander(port) {
  const child = spawn(process.execPath, [BYSTANDER, String(port)], { stdio: ['pipe', 'pipe', 2] });
  return {
    async stop() {
      child.stdin.end();
      return JSON.parse(await text(child.stdout));
    },
  };
}

const BYSTANDER = fileURLToPath(new URL('bystander.mjs', import.meta.url));
