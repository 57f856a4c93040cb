/**
 * The processes of a bench: servers, the load generator, and scripts that measure themselves.
 *
 * Each takes its options as JSON and prints a line of JSON when it is ready or done. The processor
 * time and memory of a server are read from /proc; systems without /proc get no such figures.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** When the bench ends, for whatever reason, its processes end, too. */
const running = new Set();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

/** A script that prints lines of JSON. */
function start(node, script, args, stdin = 'ignore', flags = []) {
  const all = [...flags, here(script), ...args];
  const child = spawn(node, all, { stdio: [stdin, 'pipe', 'inherit'] });
  const end = once(child, 'exit');
  running.add(child);
  end.finally(() => running.delete(child)).catch(() => undefined);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    child,
    end,
    async nextLine() {
      const { value, done } = await lines.next();
      if (!done) return JSON.parse(value);
      const [code, signal] = await end;
      throw new Error(`${script} ended with ${code ?? signal}`);
    },
  };
}

/** Starts a server that prints `{"port":…}`, with other members, when it is ready. */
export async function startServer(node, script, { heapMb, ...options }) {
  const flags = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`];
  const { child, end, nextLine } = start(node, script, [JSON.stringify(options)], 'ignore', flags);
  return {
    ...(await nextLine()),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    memory: () => memoryOf(child.pid),
    processorUs: () => processorUsOf(child.pid),
    async stop() {
      child.kill('SIGKILL');
      await end;
    },
  };
}

/** Starts a script that prints lines of JSON. */
export function startScript(node, script, options, stdin) {
  return start(node, script, [JSON.stringify(options)], stdin);
}

/** Runs a script that prints one line of JSON and ends. */
export async function runScript(node, script, options) {
  const { end, nextLine } = startScript(node, script, options);
  const result = await nextLine();
  await end;
  return result;
}

/** Starts a load generator for many jobs; load.mjs describes them. */
export function startLoad() {
  const { child, end, nextLine } = start(process.execPath, 'load.mjs', [], 'pipe');
  return {
    run(job) {
      child.stdin.write(`${JSON.stringify(job)}\n`);
      return nextLine();
    },
    async stop() {
      child.stdin.end();
      await end;
    },
  };
}

/** Measures one job with a new load generator. */
export function measure({ port, request, ...job }) {
  return runScript(process.execPath, 'load.mjs', { port, request: textOf(request), ...job });
}

/**
 * Runs one burst of a server under load. The job has `request`, `connections` and what is expected
 * of the responses. The figures are those of the load generator, and the processor time of a
 * response.
 */
export async function measureBurst(bench, server, job) {
  const before = server.processorUs();
  const { port } = server;
  const { seconds, load } = bench;
  const figures = bench.wrk
    ? await runWrk({ ...job, port, seconds })
    : await load.run({ ...job, port, seconds, request: textOf(job.request) });
  return { ...figures, processorUs: (server.processorUs() - before) / figures.answers };
}

/** A server as a contender. `prepare` makes its options for each start. */
export function serverContender(bench, name, script, prepare, job) {
  return {
    name,
    async start() {
      const server = await startServer(bench.node, script, prepare());
      return { burst: () => measureBurst(bench, server, job), stop: server.stop };
    },
  };
}

/** A script that measures itself, as a contender. */
export function scriptContender(bench, name, script, options) {
  const burst = () => runScript(bench.node, script, { ...options, seconds: bench.seconds });
  return { name, start: async () => ({ burst, stop: () => undefined }) };
}

/** Returns the text of a GET of the path, or of a POST of the body. */
export function textOf({ path, body }) {
  const head = `${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bench\r\n`;
  if (body === undefined) return `GET ${head}\r\n`;
  const fields = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `POST ${head}${fields}\r\n${body}`;
}

/** Returns the response to a GET: its header fields as a flat list, as sent, and its body. */
export async function answerOf(port, path) {
  const options = { port, path, host: '127.0.0.1', headers: { Authorization: 'Bearer bench' } };
  const [answer] = await once(get({ ...options, agent: false }), 'response');
  return { status: answer.statusCode, fields: answer.rawHeaders, body: await buffer(answer) };
}

/**
 * wrk takes far less processor time than load.mjs, so more of it is left for the server. It does
 * not check bodies: this function checks one response.
 */
async function runWrk({ port, request, connections, seconds, bodyBytes }) {
  const { path, body } = request;
  if (body === undefined) {
    const answer = await answerOf(port, path);
    const expected = bodyBytes ?? answer.body.length;
    if (answer.status !== 200 || answer.body.length !== expected) {
      throw new Error(`${path} answered ${answer.status} with ${answer.body.length} bytes`);
    }
  }
  const args = ['-t1', `-c${connections}`, `-d${seconds}`, '--latency'];
  args.push('-H', 'Authorization: Bearer bench');
  if (body !== undefined) args.push('-s', here('post.lua'));
  args.push(`http://127.0.0.1:${port}${path}`, '--', ...(body === undefined ? [] : [body]));
  const { stdout } = await run('wrk', args);
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout);
  return {
    rate: Number(/Requests\/sec: +([0-9.]+)/.exec(stdout)[1]),
    answers: Number(/([0-9]+) requests in/.exec(stdout)[1]),
    p50: microseconds(/50% +(\S+)/.exec(stdout)[1]),
    p99: microseconds(/99% +(\S+)/.exec(stdout)[1]),
  };
}

function microseconds(text) {
  const [, number, unit] = /^([0-9.]+)(us|ms|s)$/.exec(text);
  return Math.round(number * { us: 1, ms: 1000, s: 1_000_000 }[unit]);
}

/** Returns the processor time of all threads of a process so far, in microseconds. */
function processorUsOf(pid) {
  try {
    let nanoseconds = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const [used] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      nanoseconds += Number(used);
    }
    return nanoseconds / 1000;
  } catch {
    return NaN;
  }
}

/** Returns the resident and the peak bytes of a process. */
function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (field) => Number(new RegExp(`${field}:\\s+([0-9]+) kB`).exec(status)?.[1]);
  return { resident: 1024 * kilobytes('VmRSS'), peak: 1024 * kilobytes('VmHWM') };
}
