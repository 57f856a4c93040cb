/**
 * Ends a test file from whose process nothing has come for ten minutes, neither a result nor an
 * output. It may have a test that waits without end, a loop that never yields, or something open
 * after its last test. Node's own `--test-timeout` knows only the file (Node 20 and 22), or ends
 * only the first of these three (Node 24 and 26). A limit for the whole file would end a long one
 * on a slow machine.
 *
 * TEST_LIMIT_MS is another limit, for tests.
 */

import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { resolve } from 'node:path';

/** @import { ChildProcess } from 'node:child_process' */

const LIMIT_MS = Number(process.env['TEST_LIMIT_MS'] ?? 600_000);
/** How long a process has to say where it is. */
const ANSWER_MS = 5_000;
/** Where a process is: what is open, and the stack of the code that runs. */
const WHERE = '`Open: ${process.getActiveResourcesInfo()}\\n${new Error().stack}`';

/**
 * The tests that run, by the file that declares them.
 * @type {Map<string, string[]>}
 */
const running = new Map();

/**
 * The files that were ended, each with where its process was, if that is known.
 * @type {Map<string, string>}
 */
export const ended = new Map();

/** Returns true if this is the path of a test file, and not of a helper that declares tests. */
export function isTestFile(path = '') {
  return /\.test\.m?js$/.test(path);
}

/**
 * Notes which tests run.
 * @param {string} type of an event of node:test
 * @param {string} file
 * @param {string} name
 */
export function note(type, file, name) {
  const names = running.get(file) ?? [];
  if (type === 'test:dequeue') running.set(file, [...names, name]);
  const at = type === 'test:complete' ? names.lastIndexOf(name) : -1;
  if (at >= 0) names.splice(at, 1);
}

/**
 * Returns the names of the tests that ran when a file was ended, after all events of that file.
 * Until Node 22, a test that a helper declares does not name its file.
 * @param {string} file
 */
export function takeRunning(file) {
  const files = [...running.keys()].filter((other) => other === file || !isTestFile(other));
  return files.flatMap((other) => {
    const names = running.get(other) ?? [];
    running.delete(other);
    return names;
  });
}

let ending = Promise.resolve();

// The process of each test file, which node:test starts.
subscribe('child_process', (message) => {
  const { process: child } = /** @type {{ process: ChildProcess }} */ (message);
  child.once('spawn', () => {
    const timer = setTimeout(() => {
      stop();
      // One after the other, since all debuggers use the same port.
      ending = ending.then(() => end(child));
    }, LIMIT_MS).unref();
    const streams = [child.stdout, child.stderr];
    const goOn = () => timer.refresh();
    const stop = () => {
      clearTimeout(timer);
      for (const stream of streams) stream?.off('data', goOn);
    };
    for (const stream of streams) stream?.on('data', goOn);
    child.once('close', stop);
  });
});

/** @param {ChildProcess} child */
async function end(child) {
  const file = resolve(child.spawnargs.find(isTestFile) ?? '');
  ended.set(file, '');
  if (child.exitCode === null && child.signalCode === null) {
    ended.set(file, await whereIs(child));
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  // A process that it has started may keep them open.
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/**
 * Asks a process by its debugger, which also interrupts a loop. Resolves with an empty text if it
 * does not answer. Node 20 has no WebSocket, and Windows no signal for this.
 * @param {ChildProcess} child
 * @returns {Promise<string>}
 */
function whereIs(child) {
  if (process.platform === 'win32' || typeof WebSocket === 'undefined') return Promise.resolve('');
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ANSWER_MS, '');
    child.stderr?.on('data', (text) => {
      const [url] = /ws:\S+/.exec(String(text)) ?? [];
      if (url === undefined) return;
      const socket = new WebSocket(url);
      const question = { id: 1, method: 'Runtime.evaluate', params: { expression: WHERE } };
      socket.addEventListener('open', () => socket.send(JSON.stringify(question)));
      socket.addEventListener('message', ({ data }) => {
        clearTimeout(timer);
        socket.close();
        resolve(JSON.parse(data).result.result.value);
      });
    });
    child.kill('SIGUSR1');
  });
}
