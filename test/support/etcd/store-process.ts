/** A process with an etcd store, for calls and signals. It is restarted whenever it ends. */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SeenPet } from './history.ts';

export type Question =
  | { readonly kind: 'create'; readonly name: string; readonly key?: string | undefined }
  | { readonly kind: 'get'; readonly id: number }
  | { readonly kind: 'list'; readonly after: number; readonly limit: number };

export type Answer =
  | { readonly value: readonly SeenPet[] | undefined }
  /** The name of an error; `gone` if the process ended before it answered. */
  | { readonly error: string; readonly message: string };

const PROGRAM: string = fileURLToPath(new URL('store-program.js', import.meta.url));
/** The pause before a process that ended is started again. */
const RESTART_MS = 200;

export class StoreProcess {
  readonly #args: readonly string[];
  readonly #onLost: (message: string) => void;
  readonly #waiting: Map<number, (answer: Answer) => void> = new Map();
  #child: ChildProcess;
  #isReady = false;
  #isOver = false;
  #number = 0;

  /**
   * `module` is the URL of the file with `openEtcdStore`; `onLost` is called if the log is lost.
   */
  constructor(module: string, options: object, onLost: (message: string) => void) {
    this.#args = [module, JSON.stringify(options)];
    this.#onLost = onLost;
    this.#child = this.#start();
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  ask(question: Question): Promise<Answer> {
    if (!this.#isReady) return Promise.resolve({ error: 'not sent', message: 'not started' });
    const number = (this.#number += 1);
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve);
      this.#child.send({ number, ...question }, () => undefined);
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  #start(): ChildProcess {
    const child = fork(PROGRAM, [...this.#args], {
      // Without the arguments of the test runner.
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('message', (message) => this.#take(message as { number: number } & Answer));
    child.on('exit', () => void this.#restart());
    return child;
  }

  #take({ number, ...answer }: { readonly number: number } & Answer): void {
    if (number === 0) this.#isReady = true;
    if (number === -1 && 'error' in answer) this.#onLost(answer.message);
    this.#waiting.get(number)?.(answer);
    this.#waiting.delete(number);
  }

  async #restart(): Promise<void> {
    this.#isReady = false;
    for (const resolve of this.#waiting.values()) resolve({ error: 'gone', message: 'it ended' });
    this.#waiting.clear();
    await sleep(RESTART_MS);
    if (!this.#isOver) this.#child = this.#start();
  }
}
