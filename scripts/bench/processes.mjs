/** Processes of a bench: servers to measure, and the load generator that measures them. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/**
 * Starts a script that prints one line of JSON when it is ready: `{"port":…}` at least.
 *
 * `node` is the Node to run it with; `stop` ends it and waits for its end.
 */
export async function startServer(node, script, options = {}) {
  const args = [here(script), JSON.stringify(options)];
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await firstLine(child, script);
  return {
    ...JSON.parse(line),
    memory: () => memoryOf(child.pid),
    async stop(signal = 'SIGKILL') {
      const end = once(child, 'exit');
      child.kill(signal);
      await end;
    },
  };
}

/** Runs the load generator and resolves with what it measured. */
export async function measure(options) {
  const child = spawn(process.execPath, [here('load.mjs'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await firstLine(child, 'load.mjs'));
}

/**
 * Reads measured with wrk, which needs far less of the processor than our own generator, so that
 * the server is what is measured. It does not look at bodies: one answer is looked at here.
 */
export async function measureWithWrk({ port, path, connections, seconds, bodyBytes }) {
  const url = `http://127.0.0.1:${port}${path}`;
  const authorization = 'Authorization: Bearer bench';
  const answer = await fetch(url, { headers: { Authorization: 'Bearer bench' } });
  const body = await answer.arrayBuffer();
  if (answer.status !== 200 || body.byteLength !== (bodyBytes ?? body.byteLength)) {
    throw new Error(`${url} answered ${answer.status} with ${body.byteLength} bytes`);
  }
  const args = ['-t1', `-c${connections}`, '-H', authorization, '--latency', url];
  await run('wrk', ['-d1', ...args]);
  const { stdout } = await run('wrk', [`-d${Math.ceil(seconds)}`, ...args]);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
  return {
    rate: Number(/Requests\/sec: +([0-9.]+)/.exec(stdout)[1]),
    p50: microseconds(/50% +(\S+)/.exec(stdout)[1]),
    p99: microseconds(/99% +(\S+)/.exec(stdout)[1]),
  };
}

function microseconds(text) {
  const [, number, unit] = /^([0-9.]+)(us|ms|s)$/.exec(text);
  return Math.round(number * { us: 1, ms: 1000, s: 1_000_000 }[unit]);
}

/** Runs a script that prints one line of JSON and ends. */
export async function runScript(node, script, options = {}) {
  const args = [here(script), JSON.stringify(options)];
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = once(child, 'exit');
  const result = JSON.parse(await firstLine(child, script));
  await end;
  return result;
}

async function firstLine(child, script) {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${script} ended with ${code}`);
  });
  ended.catch(() => undefined);
  let text = '';
  while (!text.includes('\n')) {
    const [chunk] = await Promise.race([once(child.stdout, 'data'), ended]);
    text += chunk;
  }
  return text.slice(0, text.indexOf('\n'));
}

/** Resident and peak bytes of a process, where /proc tells them. */
function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (field) => Number(new RegExp(`${field}:\\s+([0-9]+) kB`).exec(status)?.[1]);
  return { resident: 1024 * kilobytes('VmRSS'), peak: 1024 * kilobytes('VmHWM') };
}
