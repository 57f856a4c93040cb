#!/usr/bin/env node
/**
 * The process: configuration in, signals, exit codes.
 *
 * Exit codes: 0 after a clean stop, 1 when the service cannot start or was hurried out, 2 for a
 * mistake in the configuration. Log lines go to standard error; standard output has the greeting.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import zlib from 'node:zlib';
import type { ApiKeyOption } from './api-keys/api-key.ts';
import { readApiKeys, readApiKeysFile, type ApiKeySource } from './api-keys/read-api-keys.ts';
import type { AppOptions } from './app-options.ts';
import { createApp, type App } from './app.ts';
import { messageOf } from './base/log.ts';
import { VERSION } from './base/version.ts';
import { COMMANDS, expandHelp, runCommand } from './commands/commands.ts';
import { HELP } from './commands/help.ts';
import { readConfig, type Config } from './config.ts';
import { readInheritedSocket } from './socket-activation.ts';
import { connectionsOf, createHttpServer } from './http/http-server.ts';
import { stopServer } from './http/stop-server.ts';
import { isSafe } from './model/pet-store.ts';
import { createJsonLog } from './ops/json-log.ts';
import { readProcessStats } from './ops/process-stats.ts';
import { DEFAULT_PREFIX } from './stores/etcd/etcd-options.ts';

/** After this, busy connections are cut. */
const DRAIN_MS = 5_000;
/** After this the process ends, stopped or not, unless memory has the only copy of the pets. */
const STOP_DEADLINE_MS = 10_000;
const LAST_DEADLINE_MS = 60_000;

/**
 * The backlog of an inherited socket: how many connections may wait while the next process starts.
 * Linux limits it to the same number by default.
 */
const INHERITED_BACKLOG = 4096;

/** At most one log line per this time about connections that could not be accepted. */
const ACCEPT_LOG_MS = 1000;

const log = createJsonLog((line) => process.stderr.write(`${line}\n`));

let failedKeyReloads = 0;

// Without a listener, the end of whoever reads the log (EPIPE) would end the service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// A warning of Node itself is a line of the log, like all others.
process.removeAllListeners('warning').on('warning', ({ name, message }) => {
  log('warn', 'Node.js warns', { cause: `${name}: ${message}` });
});

await main(expandHelp(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<void> {
  // One of the newest things that the service needs. They (crypto.hash is another) are taken from
  // the default exports of their modules: a named import would fail before it comes to this
  // sentence.
  if (zlib.crc32 === undefined) {
    printError(`Node.js 20.19.2 or later is needed, not ${process.version}`);
    process.exit(1);
  }
  await (runCommand(args) ?? serve(args));
}

async function serve(args: readonly string[]): Promise<void> {
  // Before anything that takes time: without a listener, SIGHUP would end the process.
  const hangUps = catchHangUps();
  const result = await readConfig(process.env, args, readApiKeysFile, Object.keys(COMMANDS));
  // What shows the environment later (a diagnostic report, a child) must not show a key.
  delete process.env['PETSTORE_API_KEYS'];
  switch (result.kind) {
    case 'help':
      process.stdout.write(HELP);
      return;
    case 'version':
      process.stdout.write(`${VERSION}\n`);
      return;
    case 'mistakes':
      for (const mistake of result.mistakes) printError(mistake);
      process.exitCode = 2;
      return;
    case 'run':
      try {
        await run(result.config, result.apiKeys, hangUps);
      } catch (error) {
        printError(messageOf(error));
        process.exit(1);
      }
  }
}

async function run(
  config: Config,
  apiKeys: readonly ApiKeyOption[],
  hangUps: HangUps,
): Promise<void> {
  const madeKey = apiKeys.length === 0 ? randomBytes(24).toString('base64url') : undefined;
  const app = createApp({
    ...backendOptions(config),
    apiKeys: madeKey === undefined ? apiKeys : [madeKey],
    bodyLimitBytes: config.bodyLimitBytes,
    accessLog: config.accessLog,
    corsOrigins: config.corsOrigins,
    page: config.page,
    prefix: config.prefix,
    log,
    runtime: {
      nodeVersion: process.version,
      openConnections: () => connectionsOf(server).size,
      refusedConnections: () => refusedConnections,
      failedKeyReloads: () => failedKeyReloads,
      processStats: () => readProcessStats(process),
    },
  });
  const server = createHttpServer(app.listener);
  let refusedConnections = 0;
  server.on('drop', () => (refusedConnections += 1));
  const { onSignal, isStopping } = stopOnSignals(app, server);
  const open = (): Promise<void> =>
    // A stop closes the app, and so ends its start: that is no failure of it.
    app.open().catch((error: unknown) => {
      if (!isStopping()) throw error;
    });
  handleHangUps(hangUps, app, config.apiKeySource, () => onSignal('SIGHUP'));
  const inheritedSocket = readInheritedSocket(process.env, process.pid);
  // The port comes first: while a large file loads, the service responds that it is starting.
  // Clients in the queue of an inherited socket wait until it has started instead.
  if (inheritedSocket !== undefined) await open();
  if (isStopping()) return;
  const url = await listen(server, config, inheritedSocket);
  await open();
  if (isStopping()) return;
  const { total: pets } = await app.pets.count();
  log('info', 'Started', {
    version: VERSION,
    ...(url === undefined ? { socket: 'unix' } : { url }),
    ...backendDetails(config),
    pets,
    pid: process.pid,
  });
  process.stdout.write(greeting(url, backendSentence(config), madeKey, config.page));
}

/** Where the app keeps the pets. */
function backendOptions({ dataFile, memory, etcd }: Config): Partial<AppOptions> {
  if (etcd !== undefined) return { etcd };
  if (dataFile === undefined) return { memory: true };
  return memory ? { memory: { dataFile: resolve(dataFile) } } : { dataFile: resolve(dataFile) };
}

function backendDetails({ dataFile, memory, etcd }: Config): Record<string, string | boolean> {
  if (etcd !== undefined) {
    return { etcd: etcd.endpoints.join(','), prefix: etcd.prefix ?? DEFAULT_PREFIX };
  }
  return {
    ...(dataFile === undefined ? {} : { dataFile: resolve(dataFile) }),
    ...(memory ? { memory } : {}),
  };
}

/** What follows "Petstore listens on … and". */
function backendSentence({ dataFile, memory, etcd }: Config): string {
  if (etcd !== undefined) {
    const prefix = etcd.prefix ?? DEFAULT_PREFIX;
    return `keeps its pets in etcd at ${etcd.endpoints.join(', ')}, under ${prefix}`;
  }
  if (!memory) return `keeps its pets in ${resolve(dataFile ?? '')}, with a journal beside it`;
  const start = dataFile === undefined ? '' : `; it began with those of ${resolve(dataFile)}`;
  return `keeps its pets in memory only, until it ends${start}`;
}

/** Listens, and resolves with the URL; undefined for a Unix socket, which has none. */
async function listen(
  server: Server,
  { host, port, prefix }: Config,
  inheritedSocket: number | undefined,
): Promise<string | undefined> {
  const isInherited = inheritedSocket !== undefined;
  if (isInherited) server.listen({ fd: inheritedSocket }, INHERITED_BACKLOG);
  else server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const isInUse = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const socket = isInherited ? 'the inherited socket' : `${host}, port ${port}`;
    const cause = isInUse ? 'the port is in use' : messageOf(error);
    throw new Error(`Cannot listen on ${socket}: ${cause}`);
  }
  logAcceptErrors(server);
  // A string, or null for an inherited one, if it is a Unix socket.
  const bound = server.address() as AddressInfo | string | null;
  if (typeof bound !== 'object' || bound === null) return undefined;
  const { address, family } = bound;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound.port}${prefix}`;
}

/**
 * A server that listens reports a failed accept as an error, for example ENOBUFS. The next one may
 * succeed, so it must not end the process.
 */
function logAcceptErrors(server: Server): void {
  let failures = 0;
  let loggedAt = -Infinity;
  server.on('error', (error) => {
    failures += 1;
    if (performance.now() - loggedAt < ACCEPT_LOG_MS) return;
    loggedAt = performance.now();
    log('error', 'Cannot accept a connection', { cause: messageOf(error), failures });
  });
}

interface Stopper {
  onSignal(signal: NodeJS.Signals): void;
  isStopping(): boolean;
}

/** Stops on SIGTERM and SIGINT, and if the store is lost, once; returns what does it. */
function stopOnSignals(app: App, server: Server): Stopper {
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopping) {
      log('warn', 'Stopped at once by a second signal', { signal });
      process.exit(1);
    }
    isStopping = true;
    log('info', 'Stopping', { signal });
    void stopAndExit(app, server, 0);
  };
  // A new process can continue, and the supervisor of this one starts it.
  void app.lost.then((error) => {
    printError(error.message);
    if (isStopping) return;
    isStopping = true;
    void stopAndExit(app, server, 1);
  });
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return { onSignal, isStopping: () => isStopping };
}

/**
 * Exit code: `exitCode` if the pets are safe, as far as the store can tell; else 1. A store that
 * does not tell has to close in time.
 */
async function stopAndExit(app: App, server: Server, exitCode: number): Promise<never> {
  endAfter(STOP_DEADLINE_MS, app, exitCode);
  try {
    await stopServer(server, DRAIN_MS, () => app.drain());
    await app.close();
  } catch (error) {
    log('error', 'Stopping failed', { cause: messageOf(error) });
    process.exit(1);
  }
  log('info', 'Stopped');
  process.exit(exitCode);
}

/** Ends the process at the deadline of a stop. */
function endAfter(deadlineMs: number, app: App, exitCode: number): void {
  setTimeout(() => {
    const pets = app.whereAreThePets();
    const mayWait = pets === 'memory only' && deadlineMs < LAST_DEADLINE_MS;
    if (mayWait) return endAfter(LAST_DEADLINE_MS, app, exitCode);
    log('error', 'Graceful shutdown timed out', {
      deadlineMs,
      ...(pets === undefined ? {} : { pets }),
    });
    process.exit(pets !== undefined && isSafe(pets) ? exitCode : 1);
  }, deadlineMs);
}

/** SIGHUP from the first moment on: a signal that comes too early is handled later. */
interface HangUps {
  /** True if the terminal that the process was started on is closed. */
  isTerminalClosed(): boolean;
  /** Sets what a SIGHUP does, and does it for one that came before. */
  handle(onHangUp: () => void): void;
}

function catchHangUps(): HangUps {
  // Any of the three streams, since output is often redirected. Under nohup and systemd none is a
  // terminal; after a hang-up `isatty` returns false for the closed one.
  const terminals = [0, 1, 2].filter((stream) => isatty(stream));
  let isPending = false;
  let handleOne = (): void => void (isPending = true);
  process.on('SIGHUP', () => handleOne());
  return {
    isTerminalClosed: () => terminals.length > 0 && !terminals.some((stream) => isatty(stream)),
    handle(onHangUp) {
      handleOne = onHangUp;
      if (isPending) onHangUp();
    },
  };
}

/** SIGHUP means "read the API keys file again", or that the terminal was closed. */
function handleHangUps(
  hangUps: HangUps,
  app: App,
  source: ApiKeySource,
  stopService: () => void,
): void {
  let reading: Promise<void> = Promise.resolve();
  hangUps.handle(() => {
    if (hangUps.isTerminalClosed()) stopService();
    else if (source.file === undefined) log('warn', 'There is no API keys file to read again');
    else reading = reading.then(() => reloadKeys(app, source));
  });
}

/** A file with a mistake in it leaves the keys that are in force. */
async function reloadKeys(app: App, source: ApiKeySource): Promise<void> {
  const mistakes: string[] = [];
  const keys = await readApiKeys(source, readApiKeysFile, mistakes);
  if (mistakes.length > 0) {
    failedKeyReloads += 1;
    log('error', 'The API keys were left as they are', { cause: mistakes.join('; ') });
  } else {
    app.setApiKeys(keys);
    log('info', 'Read the API keys again', { keys: keys.length });
  }
}

function printError(message: string): void {
  process.stderr.write(`petstore: ${message}\n`);
}

function greeting(
  url: string | undefined,
  backend: string,
  generatedKey: string | undefined,
  hasPage: boolean,
): string {
  // A wildcard address is where the service listens, not where a client can reach it.
  const base =
    url?.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:') ?? 'http://localhost';
  const key = generatedKey ?? '<your API key>';
  const note =
    generatedKey === undefined
      ? ''
      : `No API key is configured, so one was made for this run: ${generatedKey}\n`;
  const isPageShown = hasPage && url !== undefined;
  const curl = url === undefined ? 'curl --unix-socket <path of the socket>' : 'curl';
  return `Petstore ${VERSION} listens on ${url ?? 'an inherited Unix socket'} (process ${process.pid})
and ${backend}
${note}
${isPageShown ? `Open ${base}/ in a browser, or add` : 'Add'} a pet, then list the pets:

  ${curl} -H 'Authorization: Bearer ${key}' -d '{"name":"Rex","categoryId":1}' -H 'Content-Type: application/json' ${base}/v1/pets
  ${curl} -H 'Authorization: Bearer ${key}' ${base}/v1/pets
`;
}
