/** The real process, dist/server.js, for tests. */

import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { tempDir } from '../disk/temp-dir.ts';
import { ROOT } from '../project.ts';
import { until } from '../until.ts';

/** The API key of services that `startOn` starts. */
export const KEY = 'test-key';

export const SERVER_JS: string = join(ROOT, 'dist', 'server.js');

export type Process = ReturnType<typeof startProgram>;

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The user id of the process, which only root can choose. */
  readonly uid?: number;
  /** The descriptor of a socket, which becomes descriptor 3 of the process. */
  readonly socket?: number;
}

/** Starts a program. Its environment has only the given variables and PATH. */
export function startProgram(
  command: string,
  args: readonly string[],
  { env = {}, socket, ...options }: ProgramOptions,
) {
  const child = spawn(command, args, {
    ...options,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(socket === undefined ? [] : [socket])],
  }) as ChildProcessByStdio<null, Readable, Readable>;
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let isEnded = false;
  child.on('close', () => (isEnded = true));
  const wrote = async (holds: () => boolean): Promise<void> => {
    await until(() => isEnded || holds());
    assert.ok(holds(), `It ended: ${stderr}`);
  };
  return {
    child,
    /** What the process has written so far. */
    stdout: (): string => stdout,
    stderr: (): string => stderr,
    /** Resolves when that holds of what it has written. Rejects if the process ends first. */
    wrote,
    /** Resolves with the exit code, or with the name of the signal that ended the process. */
    async exit(): Promise<number | string> {
      const [code, signal] = await ended;
      return code ?? signal ?? 'unknown';
    },
    /**
     * Resolves with the address that it logged, or '' for a Unix socket. Rejects if the process
     * ends first.
     */
    async ready(): Promise<string> {
      const started = /"event":"Started",.*?(?:"url":"(.+?)"|"socket").*\n/;
      await wrote(() => started.test(stderr));
      return started.exec(stderr)![1] ?? '';
    },
    /** Resolves with the greeting, which it prints if it has made an API key. */
    async greeting(): Promise<string> {
      // With its last line, the greeting is complete.
      await wrote(() => /\/v1\/pets\n$/.test(stdout));
      return stdout;
    },
  };
}

/** Runs Node to its end, as `startProgram` starts a program. */
export async function runNode(args: readonly string[], options: ProgramOptions = {}) {
  const run = startProgram(process.execPath, args, options);
  return { code: await run.exit(), stdout: run.stdout(), stderr: run.stderr() };
}

/** As `runNode`, and fails unless the exit code is 0. Resolves with what was written to stdout. */
export async function outputOf(...run: Parameters<typeof runNode>): Promise<string> {
  const { code, stdout, stderr } = await runNode(...run);
  assert.equal(code, 0, stdout + stderr);
  return stdout;
}

/** Runs a script of the folder `scripts` to its end. */
export function runScript(name: string, args: readonly string[], env = {}) {
  return runNode([join(ROOT, 'scripts', name), ...args], { env });
}

/** The test, or the file of tests, with which a process ends. */
interface Scope {
  after(close: () => unknown): void;
}

export interface ServiceOptions extends ProgramOptions {
  /** A module that Node runs before the service. */
  readonly hook?: string;
}

/** Starts the service with the API key KEY; it ends with the test at the latest. */
export function startFor(
  t: Scope,
  args: readonly string[],
  { hook, ...options }: ServiceOptions = {},
): Process {
  const imported =
    hook === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const env = { PETSTORE_API_KEYS: KEY };
  const all = [...imported, SERVER_JS, ...args];
  const service = startProgram(process.execPath, all, { env, ...options });
  t.after(() => end(service, 'SIGKILL'));
  return service;
}

/** Starts the service on a data file and any port. */
export function startOn(
  t: Scope,
  dataFile: string = join(tempDir(t), 'pets.json'),
  options: ServiceOptions = {},
): Process {
  return startFor(t, ['--port', '0', '--data-file', dataFile], options);
}

/** Lists the pets, with another key than KEY if one is given. */
export function listPets(url: string, key?: string): Promise<Response> {
  return send(`${url}/v1/pets`, key);
}

/** Resolves with the value of a metric without labels, which a key of a service reads. */
export async function metricOf(url: string, name: string, key?: string): Promise<number> {
  const text = await (await send(`${url}/metrics`, key)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

export function addPet(url: string, key?: string, body: string = PET): Promise<Response> {
  return send(`${url}/v1/pets`, key, { method: 'POST', body });
}

function send(url: string, key: string = KEY, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return fetch(url, { ...init, headers });
}

/** The body that `addPet` sends. */
export const PET = '{"name":"Rex","categoryId":7}';

export const FAULTY_CALLS: string = new URL('./faulty-calls.js', import.meta.url).href;

/** As `startOn`, with a function that sets what each `fdatasync` does from then on. */
export function startFaulty(t: Scope, dataFile: string, timersFaster = 1) {
  const faultFile = join(tempDir(t), 'fault');
  execFileSync('mkfifo', [`${faultFile}.pipe`]);
  const env = { PETSTORE_API_KEYS: KEY, FAULT_FILE: faultFile, FASTER: `${timersFaster}` };
  const hook = `import '${FAULTY_CALLS}'`;
  const service = startOn(t, dataFile, { hook, env });
  const setFault = (fault: 'none' | 'EIO' | 'hang'): void => writeFileSync(faultFile, fault);
  return { service, setFault };
}

/** Resolves with the port when the service listens. */
export async function portOf(service: Process): Promise<number> {
  return Number(new URL(await service.ready()).port);
}

/** Sends the signal. Resolves with the exit code or signal that ended the process. */
export function end(service: Process, signal: NodeJS.Signals): Promise<number | string> {
  service.child.kill(signal);
  return service.exit();
}

/** Resolves when the process has logged the text. Rejects if the process ends first. */
export function logged({ stderr, wrote }: Process, text: string): Promise<void> {
  return wrote(() => stderr().includes(text));
}

/** Checks that a process does not start: it prints the reason in one line, and exits with 1. */
export async function assertRefused(service: Process, line: RegExp, code = 1): Promise<void> {
  const serves = service.ready().then(
    () => 'It serves',
    () => service.exit(),
  );
  assert.equal(await serves, code);
  assert.match(service.stderr(), line);
  assert.equal(service.stderr().split('\n').length, 2, service.stderr());
  assert.equal(service.stdout(), '');
}
