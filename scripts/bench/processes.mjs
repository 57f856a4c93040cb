/**
 * The processes of the bench: servers, the load generator, and scripts that measure themselves.
 *
 * Each takes its options as JSON, prints a line of JSON when it is ready or done, and ends when its
 * input does, as it does when the bench ends. The processor time and memory of a server are read
 * from /proc.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freshData } from './data.mjs';

/**
 * What a server gets: the options of its kind, or how many pets its data file has, and its heap.
 * @typedef {import('./servers.mjs').Options & { pets?: number, petsPerCommit?: number,
 *   heapMb?: number }} ServerOptions
 */

/**
 * Starts a script that prints lines of JSON.
 * @param {string} script
 * @param {unknown} [options]
 * @param {string[]} flags
 */
export function startScript(script, options, flags = []) {
  const args = [...flags, fileURLToPath(new URL(script, import.meta.url))];
  if (options !== undefined) args.push(JSON.stringify(options));
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const end = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => {
    const { value, done } = await lines.next();
    if (!done) return JSON.parse(value);
    const [code, signal] = await end;
    throw new Error(`${script} ended with ${code ?? signal}`);
  };
  return {
    pid: /** @type {number} */ (child.pid),
    nextLine,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    /**
     * Sends a line of JSON, and resolves with the line that comes back.
     * @param {unknown} question
     */
    ask(question) {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return nextLine();
    },
    async stop() {
      child.kill('SIGKILL');
      await end;
    },
  };
}

/**
 * Resolves with the first line of a script, and stops it.
 * @param {string} script
 * @param {unknown} options
 * @param {string[]} [flags]
 */
export async function runScript(script, options, flags) {
  const { nextLine, stop } = startScript(script, options, flags);
  const result = await nextLine();
  await stop();
  return result;
}

/**
 * Starts a server of servers.mjs, with the heap that scripts/systemd gives the service. With `pets`
 * it gets the path of a data file with that many, in a folder that is removed when it stops.
 * @param {{ folder: string }} bench
 * @param {import('./servers.mjs').Kind} kind
 * @param {ServerOptions} options
 */
export async function startServer({ folder }, kind, { pets, petsPerCommit, heapMb, ...options }) {
  const path = pets === undefined ? undefined : freshData(folder, pets, petsPerCommit);
  const flags = ['--max-semi-space-size=16'];
  if (heapMb !== undefined) flags.push(`--max-old-space-size=${heapMb}`);
  const script = startScript('servers.mjs', { kind, path, ...options }, flags);
  /** @type {{ port: number, openMs: number }} */
  const opened = await script.nextLine();
  return {
    ...script,
    ...opened,
    async stop() {
      await script.stop();
      if (path !== undefined) rmSync(dirname(path), { recursive: true });
    },
  };
}

/**
 * Returns the processor time of all threads of a process so far, in microseconds.
 * @param {number} pid
 */
export function processorUsOf(pid) {
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

/**
 * Returns the resident and the peak megabytes of a process so far.
 * @param {number} pid
 */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  /** @param {string} field */
  const megabytes = (field) =>
    (1024 * Number(new RegExp(`${field}:\\s+([0-9]+) kB`).exec(status)?.[1])) / 1e6;
  return { residentMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
}
