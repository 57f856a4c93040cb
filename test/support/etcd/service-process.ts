/**
 * A service on etcd in a process of its own, for requests and signals. It is restarted whenever it
 * ends. It may be a copy of the build with a planted fault, to see if a test finds the fault.
 */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../disk/temp-dir.ts';
import { KEY, SERVER_JS, startProgram, type Process } from '../process/process.ts';

/** The path of a built file; a text that it has once; and its replacement. */
export type PlantedFault = Readonly<Record<'file' | 'from' | 'to', string>>;

/** Returns the program of the service in a copy of the build that has the fault. */
export function brokenServer(t: { after(hook: () => void): void }, fault: PlantedFault): string {
  const folder = join(tempDir(t), 'dist');
  cpSync(dirname(SERVER_JS), folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  const path = join(folder, fault.file);
  const parts = readFileSync(path, 'utf8').split(fault.from);
  assert.equal(parts.length, 2, `${fault.file} has "${fault.from}" once`);
  writeFileSync(path, parts.join(fault.to));
  return join(folder, basename(SERVER_JS));
}

/** The pause before a process that ended is started again. */
const RESTART_MS = 200;

export class ServiceProcess {
  readonly #start: () => Process;
  #service: Process;
  #url: string | undefined;
  #isOver = false;
  readonly #ended: Promise<void>;

  /** `onLost` is called if the log is lost. */
  constructor(program: string, env: Record<string, string>, onLost: (log: string) => void) {
    const options = { env: { PETSTORE_API_KEYS: KEY, ...env } };
    this.#start = () => startProgram(process.execPath, [program, '--port', '0'], options);
    this.#service = this.#start();
    this.#ended = this.#run(onLost);
  }

  get isReady(): boolean {
    return this.#url !== undefined;
  }

  /** Resolves with the status and the value of the response; undefined if there is none. */
  async request(
    path: string,
    init: RequestInit = {},
  ): Promise<readonly [status: number, body: unknown] | undefined> {
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    try {
      const all = { ...init, headers: { ...headers, ...init.headers } };
      const response = await fetch(`${this.#url}/v1/pets${path}`, all);
      return [response.status, await response.json()];
    } catch {
      // Without a service the failure is immediate, and callers repeat it.
      await sleep(20);
      return undefined;
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#service.child.kill(signal);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.signal('SIGKILL');
    await this.#ended;
  }

  async #run(onLost: (log: string) => void): Promise<void> {
    for (;;) {
      const service = this.#service;
      const onReady = (url: string): void => void (this.#url = url);
      service.ready().then(onReady, () => undefined);
      await service.exit();
      this.#url = undefined;
      if (service.stderr().includes('cannot continue with the log')) onLost(service.stderr());
      if (this.#isOver) return;
      await sleep(RESTART_MS);
      this.#service = this.#start();
      // It was closed meanwhile.
      if (this.#isOver) this.signal('SIGKILL');
    }
  }
}
