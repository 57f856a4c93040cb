#!/usr/bin/env node
/**
 * The process: it reads the configuration, serves, handles signals, and exits.
 *
 * Exit codes: 0 after a graceful shutdown, 1 if the service cannot start or must end early, 2 for a
 * mistake in the configuration, and 137 (SIGKILL), or that of an abort as PID 1, if a call of the
 * disk hangs at its end. Log lines go to standard error, the greeting for people to standard
 * output.
 */

import { createApp } from './app.ts';
import { messageOf, safeLogger } from './core/base/logger.ts';
import { whyUnsupported, VERSION } from './core/base/version.ts';
import { createHttpServer } from './extras/open-network/open-network-server.ts';
import type { Command, Context, Environment } from './process/command-line.ts';
import { COMMANDS, HELP, runProgram } from './process/commands.ts';
import { readConfig, SERVICE_FLAGS, type Config } from './process/config.ts';
import { connectionsThatFit } from './process/connections.ts';
import { describeEtcd } from './process/etcd.ts';
import { describeBackend, greet } from './process/greeting.ts';
import { createHangUps, type HangUps } from './process/hang-ups.ts';
import { createJsonLogger, LineWriter } from './process/json-log.ts';
import { ConfigurationError, inheritsSocket, listen } from './process/listen.ts';
import { createRuntime } from './process/ops.ts';
import { readApiKeysFile } from './process/read-api-keys.ts';
import { createShutdown } from './process/shutdown.ts';

const lines = new LineWriter(process.stderr, (dropped) => {
  logger('warn', 'Dropped lines of the log, since its reader had stopped', { dropped });
});
const logger = createJsonLogger((line) => lines.write(line));
const lastLogger = safeLogger(createJsonLogger((line) => lines.writeLast(line)));

/** The service as a command: its work ends when it is started. */
const service: Command = {
  usage: HELP,
  version: VERSION,
  flags: { ...SERVICE_FLAGS, version: 'plain' },
  words: Object.keys(COMMANDS),
  async read(line, { env }) {
    // Before anything that takes time: without a listener, SIGHUP would end the process, and
    // SIGUSR1 would open the debugger to every program of the machine.
    const hangUps = createHangUps(logger);
    process.on('SIGHUP', () => hangUps.receive());
    process.on('SIGUSR1', (signal) => logger('warn', 'Ignored a signal', { signal }));
    const config = await readConfig(line, env, readApiKeysFile);
    return () => serve(config, env, hangUps).catch(exitWithError);
  },
};

/** Serves until a signal. Resolves when the service has started. */
async function serve(config: Config, env: Environment, hangUps: HangUps): Promise<void> {
  const { options, generatedKey, apiKeySource, idleTimeout } = config;
  const backend =
    options.etcd === undefined ? describeBackend(options) : describeEtcd(options.etcd);
  const runtime = createRuntime(process, {
    failedKeyReloads: hangUps.failedReloads,
    droppedLogLines: () => lines.dropped,
  });
  const app = createApp({ ...options, log: logger, runtime });
  const limits = {
    keepAliveTimeout: idleTimeout * 1000,
    maxConnections: connectionsThatFit(logger),
  };
  const server = createHttpServer(app.listener, limits, logger);
  runtime.watch(server);

  const shutdown = createShutdown(app, server, process, logger, lastLogger);
  // Windows has no SIGTERM from another process, but SIGBREAK: Ctrl+Break.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGBREAK']) process.on(signal, shutdown.receive);
  // After exit code 1 the supervisor starts a new process, which may continue with the pets.
  void app.lost.then(() => {
    if (!shutdown.isStopping()) void shutdown.stop(1);
  });
  hangUps.handle(app, apiKeySource, () => {
    // The kernel and a shell each send one: the other is not a second signal.
    if (!shutdown.isStopping()) shutdown.receive('SIGHUP');
  });

  const open = (): Promise<void> =>
    // A graceful shutdown ends the start with an AbortError. A damaged file is reported even then.
    app.open().catch((error: unknown) => {
      if (!shutdown.isStopping() || (error as Error).name !== 'AbortError') exitWithError(error);
    });
  // The service listens first: while a large file loads, it responds that it is starting. With an
  // inherited socket, clients wait in its queue until the service has started.
  const isInherited = inheritsSocket(env, process.pid);
  if (isInherited) await open();
  if (shutdown.isStopping()) return;
  const address = await listen(server, config, isInherited, logger);
  await open();
  if (shutdown.isStopping()) return;

  const { prefix = '', page: hasPage = false } = options;
  const url = address === undefined ? undefined : `${address}${prefix}`;
  const { total: pets } = await app.pets.count();
  logger('info', 'Started', {
    version: VERSION,
    ...(url === undefined ? { socket: 'unix' } : { url }),
    ...backend.details,
    pets,
    pid: process.pid,
  });
  // Elsewhere, a reader of all output gets JSON lines only: the line above says the same.
  if (process.stdout.isTTY || generatedKey !== undefined) {
    const { sentence } = backend;
    const { pid } = process;
    process.stdout.write(greet({ url, prefix, sentence, generatedKey, hasPage, pid }));
  }
}

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

/** Ends the process even if the server listens: it must not stay half started. */
function exitWithError(error: unknown): never {
  printError(messageOf(error));
  process.exit(error instanceof ConfigurationError ? 2 : 1);
}

// Without a listener, EPIPE would end the service when the reader of its log ends.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// A reader may stop early, as `head` does. Any other error may lose the only copy of an API key.
process.stdout.once('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  printError(`Standard output: ${messageOf(error)}`);
  process.exitCode = 1;
});
// Writes a warning of Node.js as a line of the log.
process.removeAllListeners('warning').on('warning', ({ name, message }) => {
  logger('warn', 'Node.js warns', { cause: `${name}: ${message}` });
});
const whyNot = whyUnsupported(process.version);
if (whyNot !== undefined) exitWithError(whyNot);
const env = { ...process.env };
// Diagnostic reports and child processes have the environment, and must not have an API key.
delete process.env['PETSTORE_API_KEYS'];
const context: Context = {
  env,
  print: (text) => write(process.stdout, text),
  printError,
  showProgress,
};
const exitCode = await runProgram(process.argv.slice(2), service, context);
// An error of standard output may have set it.
process.exitCode ??= exitCode;
