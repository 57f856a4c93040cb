#!/usr/bin/env node
/**
 * The process: it reads the configuration, handles signals, and exits.
 *
 * Exit codes: 0 after a graceful shutdown, 1 if the service cannot start or must end early, 2 for a
 * mistake in the configuration, and 137 (SIGKILL) if a call of the disk hangs at its end. Log lines
 * go to standard error, the greeting for people to standard output.
 */

import { once } from 'node:events';
import { writeSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isatty } from 'node:tty';
import type { AppOptions } from './app.ts';
import { readApiKeys, readApiKeysFile, type ApiKeySource } from './process/read-api-keys.ts';
import { createApp, type App } from './app.ts';
import type { Command } from './process/command-line.ts';
import { messageOf, type LogDetails } from './core/base/logger.ts';
import { quote } from './core/base/quote.ts';
import { VERSION, nodeVersionProblem } from './core/base/version.ts';
import { COMMANDS, HELP, runProgram } from './process/commands.ts';
import { readConfig, SERVICE_FLAGS, type Config } from './process/config.ts';
import { connectionsOf } from './core/http/http-server.ts';
import { LIMITS } from './core/http/limits.ts';
import { stopServer } from './core/http/stop-server.ts';
import { createOpenNetworkServer } from './extras/open-network/open-network-server.ts';
import { createJsonLogger, LineWriter } from './extras/ops/logs.ts';
import { connectionsThatFit, readProcessStats } from './extras/ops/runtime.ts';
import { FailureReport } from './core/base/failure-report.ts';
import { DEFAULT_PREFIX } from './extras/etcd/etcd-options.ts';

/** How long a graceful shutdown waits before it closes connections with a request in progress. */
const DRAIN_MS = 5_000;
/** How long a graceful shutdown may take. */
const STOP_DEADLINE_S = 10;

/** The descriptor of the socket that a supervisor passes on, TCP or Unix. */
const INHERITED_FD = 3;

/**
 * The backlog of an inherited socket: how many connections may wait while the next process starts.
 * Linux limits it to the same number by default.
 */
const INHERITED_BACKLOG = 4096;

const lines = new LineWriter(process.stderr, (dropped) => {
  logger('warn', 'Dropped lines of the log, since its reader had stopped', { dropped });
});
const logger = createJsonLogger((line) => lines.write(line));
/** For the last line before the process ends, which would not wait for a stream. */
const lastLogger = createJsonLogger((line) => writeSync(process.stderr.fd, `${line}\n`));

/**
 * The standard streams on a terminal at the start: any of them, since output is often redirected.
 * Under nohup and systemd there is none.
 */
const terminals = [0, 1, 2].filter((stream) => isatty(stream));

let failedKeyReloads = 0;
let isStopping = false;

/** What a SIGHUP does. Until there is an app, it is only remembered. */
let onHangUp = (): void => void (isHungUp = true);
let isHungUp = false;

// Without a listener, EPIPE would end the service when the reader of its log ends.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// Writes a warning of Node.js as a line of the log.
process.removeAllListeners('warning').on('warning', ({ name, message }) => {
  logger('warn', 'Node.js warns', { cause: `${name}: ${message}` });
});

/** The service as a command: its work ends when it is started. */
const service: Command = {
  usage: HELP,
  version: VERSION,
  flags: { ...SERVICE_FLAGS, version: 'plain' },
  words: Object.keys(COMMANDS),
  async read(line, { env }) {
    // Before anything that takes time: without a listener, SIGHUP would end the process, and
    // SIGUSR1 would open the debugger to every program of the machine.
    process.on('SIGHUP', () => onHangUp());
    process.on('SIGUSR1', (signal) => logger('warn', 'Ignored a signal', { signal }));
    const config = await readConfig(line, env, readApiKeysFile);
    return () => run(config).catch(exitWithError);
  },
};

/** Shows the progress of a command on a terminal, until the next output. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\x1b[K${text}\r`);
}

/** Writes lines, and clears the progress. */
function write(stream: NodeJS.WriteStream, text: string): void {
  showProgress('');
  stream.write(text.endsWith('\n') ? text : `${text}\n`);
}

function printError(message: string): void {
  write(process.stderr, `petstore: ${message}`);
}

/** A mistake in the configuration that only the system finds. */
class ConfigurationError extends Error {}

/** Ends the process even if the server listens: it must not stay half started. */
function exitWithError(error: unknown): never {
  printError(messageOf(error));
  process.exit(error instanceof ConfigurationError ? 2 : 1);
}

const env = { ...process.env };
// Diagnostic reports and child processes have the environment, and must not have an API key.
delete process.env['PETSTORE_API_KEYS'];
const nodeProblem = nodeVersionProblem(process.version);
if (nodeProblem !== undefined) exitWithError(nodeProblem);
const print = (text: string): void => write(process.stdout, text);
const context = { env, print, printError, showProgress };
process.exitCode = await runProgram(process.argv.slice(2), service, context);

async function run(config: Config): Promise<void> {
  const { options, generatedKey, apiKeySource } = config;
  const [sentence, details] = describeBackend(options);
  const app = createApp({
    ...options,
    log: logger,
    runtime: {
      nodeVersion: process.version,
      openConnections: () => connectionsOf(server).size,
      refusedConnections: () => refusedConnections,
      failedKeyReloads: () => failedKeyReloads,
      droppedLogLines: () => lines.dropped,
      processStats: () => readProcessStats(process),
    },
  });
  const { connections, descriptors } = connectionsThatFit(LIMITS.maxConnections);
  if (connections < LIMITS.maxConnections) {
    const event = 'Serves fewer connections at a time, since the process may open few files';
    logger('warn', event, { connections, descriptors });
  }
  const limits = { keepAliveTimeout: config.idleTimeout * 1000, maxConnections: connections };
  const server = createOpenNetworkServer(app.listener, limits, logger);
  let refusedConnections = 0;
  server.on('drop', () => (refusedConnections += 1));
  const onSignal = stopOnSignals(app, server);
  const open = (): Promise<void> =>
    // A graceful shutdown ends the start with an AbortError. A damaged file is reported even then.
    app.open().catch((error: unknown) => {
      if (!isStopping || (error as Error).name !== 'AbortError') exitWithError(error);
    });
  onHangUp = createHangUpHandler(app, apiKeySource, () => {
    // The kernel and a shell each send one: the other is not a second signal.
    if (!isStopping) onSignal('SIGHUP');
  });
  if (isHungUp) onHangUp();
  // Socket activation, for example by a systemd socket unit (sd_listen_fds(3)): the supervisor
  // keeps the socket over restarts. A child below npm, for example, has the variables of another
  // process.
  const { LISTEN_FDS: sockets, LISTEN_PID: reader } = env;
  const isInherited = sockets !== undefined && reader === String(process.pid);
  if (isInherited && sockets !== '1') {
    throw new Error(`LISTEN_FDS must be 1, since one socket is served, not ${quote(sockets)}`);
  }
  // The service listens first: while a large file loads, it responds that it is starting. With an
  // inherited socket, clients wait in its queue until the service has started.
  if (isInherited) await open();
  if (isStopping) return;
  const address = await listen(server, config, isInherited);
  const { prefix = '' } = options;
  const url = address === undefined ? undefined : `${address}${prefix}`;
  await open();
  if (isStopping) return;
  const { total: pets } = await app.pets.count();
  logger('info', 'Started', {
    version: VERSION,
    ...(url === undefined ? { socket: 'unix' } : { url }),
    ...details,
    pets,
    pid: process.pid,
  });
  // Elsewhere, a reader of all output gets JSON lines only: the line above says the same.
  if (process.stdout.isTTY || generatedKey !== undefined) {
    process.stdout.write(greeting(url, prefix, sentence, generatedKey, options.page === true));
  }
}

/** Returns what follows "Petstore listens on … and", and the details for the log. */
function describeBackend({ dataFile, memory, etcd }: AppOptions): readonly [string, object] {
  if (etcd !== undefined) {
    const { endpoints, prefix = DEFAULT_PREFIX } = etcd;
    const sentence = `keeps its pets in etcd at ${endpoints.join(', ')}, under ${prefix}`;
    return [sentence, { etcd: endpoints.join(), prefix }];
  }
  if (dataFile !== undefined) {
    return [`keeps its pets in ${dataFile}`, { dataFile }];
  }
  const inMemory = 'keeps its pets in memory only, until it ends';
  if (typeof memory !== 'object') return [inMemory, { memory }];
  const sentence = `${inMemory}; it began with those of ${memory.dataFile}`;
  return [sentence, { dataFile: memory.dataFile, memory: true }];
}

/** Listens. Resolves with the URL, or undefined for a Unix socket, which has no URL. */
async function listen(
  server: Server,
  { host, hostName, port }: Config,
  isInherited: boolean,
): Promise<string | undefined> {
  if (isInherited) server.listen({ fd: INHERITED_FD }, INHERITED_BACKLOG);
  else server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // conda and tcsh set HOST to a name of their own. An address may come later, but not a name.
    if (code === 'ENOTFOUND') {
      const sentence = `must be an address or a name of this machine, not ${quote(host)}`;
      throw new ConfigurationError(`${hostName} ${sentence}: ${messageOf(error)}`);
    }
    const isInUse = code === 'EADDRINUSE';
    const socket = isInherited ? 'the inherited socket' : `${host} (${hostName}), port ${port}`;
    const cause = isInUse ? 'the port is in use' : messageOf(error);
    throw new Error(`Cannot listen on ${socket}: ${cause}`);
  }
  // From here on an error is a failed accept, for example ENOBUFS. The next one may succeed, so it
  // must not end the process.
  const began = 'Cannot accept a connection';
  const accepts = new FailureReport(logger, performance, began, 'Accepts connections again');
  server.on('error', (error) => accepts.record(messageOf(error)));
  server.on('connection', () => accepts.clear());
  // For a Unix socket, the address is a string, or null if the socket is inherited.
  const bound = server.address() as AddressInfo | string | null;
  if (typeof bound !== 'object' || bound === null) return undefined;
  const { address, family } = bound;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound.port}`;
}

/** Stops the service on a signal, and if the store is lost. Returns what a signal does. */
function stopOnSignals(app: App, server: Server): (signal: NodeJS.Signals) => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopping) endNow(app, 1, 'Ended by a second signal', { signal });
    logger('info', 'Stopping', { signal });
    void stopAndExit(app, server, 0);
  };
  // After exit code 1 the supervisor starts a new process, which may continue with the pets.
  void app.lost.then((error) => {
    printError(error.message);
    if (!isStopping) void stopAndExit(app, server, 1);
  });
  // Windows has no SIGTERM from another process, but SIGBREAK: Ctrl+Break.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGBREAK']) process.on(signal, onSignal);
  return onSignal;
}

/** Exits with `exitCode` after a close, or at the deadline if the pets are safe; else with 1. */
async function stopAndExit(app: App, server: Server, exitCode: number): Promise<never> {
  isStopping = true;
  exitAtDeadline(app, exitCode);
  try {
    await stopServer(server, DRAIN_MS, () => app.drain());
    await app.close();
  } catch (error) {
    logger('error', 'Graceful shutdown failed', { cause: messageOf(error) });
    process.exit(1);
  }
  logger('info', 'Stopped');
  process.exit(exitCode);
}

/**
 * Ends the process at the deadline of a graceful shutdown. It counts seconds in which the process
 * runs: while it is suspended, nothing can be finished.
 */
function exitAtDeadline(app: App, exitCode: number): void {
  let seconds = 0;
  setInterval(() => {
    seconds += 1;
    if (seconds < STOP_DEADLINE_S) return;
    const isSafe = [undefined, 'data file'].includes(app.durability());
    endNow(app, isSafe ? exitCode : 1, 'Graceful shutdown timed out', { seconds });
  }, 1000);
}

/**
 * Ends the process at once, with a last line that says what has the pets. While a call of the disk
 * hangs, `process.exit` would wait for its thread for ever: then the process kills itself.
 */
function endNow(app: App, exitCode: number, event: string, details: LogDetails): never {
  const pets = app.durability();
  // If the reader of the log has stopped, one more line would wait for it.
  if (process.stderr.writableLength === 0) {
    lastLogger('error', event, { ...details, ...(pets === undefined ? {} : { pets }) });
  }
  if (app.isWriting()) process.kill(process.pid, 'SIGKILL');
  process.exit(exitCode);
}

/** Returns what a SIGHUP does: it means "read the API keys file again", or a closed terminal. */
function createHangUpHandler(app: App, source: ApiKeySource, stopService: () => void): () => void {
  let reading: Promise<void> = Promise.resolve();
  return () => {
    // After a hang-up, `isatty` returns false for the closed terminal.
    const isTerminalClosed = terminals.length > 0 && !terminals.some((stream) => isatty(stream));
    if (isTerminalClosed) stopService();
    else if (source.file === undefined) logger('warn', 'There is no API keys file to read again');
    else reading = reading.then(() => reloadKeys(app, source));
  };
}

/** Puts the keys of the file in force, unless the file has a mistake. */
async function reloadKeys(app: App, source: ApiKeySource): Promise<void> {
  const { apiKeys, mistakes } = await readApiKeys(source, readApiKeysFile);
  if (mistakes.length > 0) {
    failedKeyReloads += 1;
    logger('error', 'Kept the API keys in force', { cause: mistakes.join('; ') });
  } else {
    app.setApiKeys(apiKeys);
    logger('info', 'Read the API keys again', { keys: apiKeys.length });
  }
}

function greeting(
  url: string | undefined,
  prefix: string,
  backend: string,
  generatedKey: string | undefined,
  hasPage: boolean,
): string {
  // A wildcard address is where the service listens, not where a client can reach it.
  const base =
    url?.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:') ??
    `http://localhost${prefix}`;
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
