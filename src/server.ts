#!/usr/bin/env node
/**
 * The process: configuration in, signals, exit codes.
 *
 * Exit codes: 0 after a clean stop, 1 when the service cannot start or was hurried out, 2 for a
 * mistake in the configuration. Log lines go to standard error; standard output has the greeting.
 */

import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { isatty } from 'node:tty';
import zlib from 'node:zlib';
import type { ApiKeyOption } from './api-keys/api-key.ts';
import { readApiKeys, readKeysFile, type ApiKeySource } from './api-keys/read-api-keys.ts';
import type { AppOptions } from './app-options.ts';
import { createApp, type App } from './app.ts';
import { messageOf } from './base/log.ts';
import { VERSION } from './base/version.ts';
import { expandHelp, type CommandName } from './commands.ts';
import { HELP, readConfig, type Config } from './config.ts';
import { readHandedSocket } from './handed-socket.ts';
import { connectionsOf, createHttpServer } from './http/http-server.ts';
import { stopServer } from './http/stop-server.ts';
import { createJsonLog } from './ops/json-log.ts';
import { readProcessStats } from './ops/process-stats.ts';
import { DEFAULT_PREFIX } from './stores/etcd/etcd-options.ts';

/** After this, busy connections are cut. */
const DRAIN_MS = 5_000;
/** After this the process ends, stopped or not. */
const STOP_DEADLINE_MS = 10_000;

/** So many may wait while the next process starts; the system's own bound is most often this one. */
const HANDED_QUEUE = 4096;

/** The tools that are commands, too: `petstore make-key`. */
const TOOLS: Readonly<Record<CommandName, () => Promise<unknown>>> = {
  'make-key': () => import('./make-key.ts'),
  'check-data': () => import('./check-data.ts'),
  conformance: () => import('./conformance.ts'),
  'copy-pets': () => import('./copy-pets.ts'),
};

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
  // One of the newest things that the service needs. They (crypto.hash is another) are taken from the
  // default exports of their modules: a named import would fail before it comes to this sentence.
  if (zlib.crc32 === undefined) {
    complain(`Node.js 20.19.2 or later is needed, not ${process.version}`);
    process.exit(1);
  }
  const [name = '', ...rest] = args;
  if (!Object.hasOwn(TOOLS, name)) return serve(args);
  // A tool reads its own arguments, as when it is started by itself.
  process.argv.splice(2, Infinity, ...rest);
  await TOOLS[name as CommandName]();
}

async function serve(args: readonly string[]): Promise<void> {
  const result = await readConfig(process.env, args, readKeysFile);
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
      for (const mistake of result.mistakes) complain(mistake);
      process.exitCode = 2;
      return;
    case 'run':
      try {
        await run(result.config, result.apiKeys);
      } catch (error) {
        complain(messageOf(error));
        process.exit(1);
      }
  }
}

async function run(config: Config, apiKeys: readonly ApiKeyOption[]): Promise<void> {
  const madeKey = apiKeys.length === 0 ? randomBytes(24).toString('base64url') : undefined;
  const app = createApp({
    ...placeOf(config),
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
  void app.lost.then((error) => stopLost(app, server, error));
  const handedSocket = readHandedSocket(process.env, process.pid);
  // The port comes first: while a large file loads, the service says that it is starting. Those who
  // are in the queue of a socket that was handed over wait for that instead.
  if (handedSocket !== undefined) await app.open();
  if (isStopping()) return;
  const url = await listen(server, config, handedSocket);
  onHangUp(app, config.apiKeySource, () => onSignal('SIGHUP'));
  await app.open();
  if (isStopping()) return;
  const { total: pets } = await app.pets.count();
  log('info', 'Started', {
    version: VERSION,
    url,
    ...placeDetails(config),
    pets,
    pid: process.pid,
  });
  process.stdout.write(greeting(url, placeSentence(config), madeKey, config.page));
}

/** Where the app keeps the pets. */
function placeOf({ dataFile, memory, etcd }: Config): Partial<AppOptions> {
  if (etcd !== undefined) return { etcd };
  if (dataFile === undefined) return { memory: true };
  return memory ? { memory: { dataFile: resolve(dataFile) } } : { dataFile: resolve(dataFile) };
}

function placeDetails({ dataFile, memory, etcd }: Config): Record<string, string | boolean> {
  if (etcd !== undefined) {
    return { etcd: etcd.endpoints.join(','), prefix: etcd.prefix ?? DEFAULT_PREFIX };
  }
  return {
    ...(dataFile === undefined ? {} : { dataFile: resolve(dataFile) }),
    ...(memory ? { memory } : {}),
  };
}

/** What follows "Petstore listens on … and". */
function placeSentence({ dataFile, memory, etcd }: Config): string {
  if (etcd !== undefined) {
    const prefix = etcd.prefix ?? DEFAULT_PREFIX;
    return `keeps its pets in etcd at ${etcd.endpoints.join(', ')}, under ${prefix}`;
  }
  if (!memory) return `keeps its pets in ${resolve(dataFile ?? '')}, with a journal beside it`;
  const start = dataFile === undefined ? '' : `; it began with those of ${resolve(dataFile)}`;
  return `keeps its pets in memory only, until it ends${start}`;
}

function listen(
  server: Server,
  { host, port, prefix }: Config,
  handedSocket: number | undefined,
): Promise<string> {
  const isHanded = handedSocket !== undefined;
  const place = isHanded ? 'the socket that was handed over' : `${host}, port ${port}`;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const cause = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message;
      reject(new Error(`Cannot listen on ${place}: ${cause}`));
    });
    const where = isHanded ? { fd: handedSocket } : { host, port };
    server.listen(where, isHanded ? HANDED_QUEUE : undefined, () => {
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}${prefix}`);
    });
  });
}

interface Stopper {
  onSignal(signal: NodeJS.Signals): void;
  isStopping(): boolean;
}

/** Stops on SIGTERM and SIGINT, and returns what does it. */
function stopOnSignals(app: App, server: Server): Stopper {
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopping) {
      log('warn', 'Stopped at once by a second signal', { signal });
      process.exit(1);
    }
    isStopping = true;
    log('info', 'Stopping', { signal });
    stop(app, server).then(
      () => process.exit(0),
      (error: unknown) => {
        log('error', 'Stopping failed', { cause: messageOf(error) });
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return { onSignal, isStopping: () => isStopping };
}

/** A new process can go on, and whoever supervises this one starts it. */
async function stopLost(app: App, server: Server, error: Error): Promise<void> {
  complain(error.message);
  await stop(app, server).catch(() => undefined);
  process.exit(1);
}

async function stop(app: App, server: Server): Promise<void> {
  setTimeout(() => {
    log('error', 'Stopping took too long; every pet that was answered is stored', {
      deadlineMs: STOP_DEADLINE_MS,
    });
    process.exit(1);
  }, STOP_DEADLINE_MS);
  await stopServer(server, DRAIN_MS, () => app.drain());
  await app.close();
  log('info', 'Stopped');
}

/**
 * SIGHUP: the keys file is read again; or the terminal was closed, and nobody sees the service. It
 * had one where any of its three streams was one: output often goes to a file. Under nohup and
 * systemd none is.
 */
function onHangUp(app: App, source: ApiKeySource, stopService: () => void): void {
  const terminals = [0, 1, 2].filter((stream) => isatty(stream));
  let reading: Promise<void> = Promise.resolve();
  process.on('SIGHUP', () => {
    // A terminal that was closed is none any more: so the two can be told apart.
    if (terminals.length > 0 && !terminals.some((stream) => isatty(stream))) stopService();
    else if (source.file === undefined) log('warn', 'There is no keys file to read again');
    else reading = reading.then(() => reloadKeys(app, source));
  });
}

/** A file with a mistake in it leaves the keys that are in force. */
async function reloadKeys(app: App, source: ApiKeySource): Promise<void> {
  const mistakes: string[] = [];
  const keys = await readApiKeys(source, readKeysFile, mistakes);
  if (mistakes.length > 0) {
    failedKeyReloads += 1;
    log('error', 'The API keys were left as they are', { cause: mistakes.join('; ') });
  } else {
    app.setApiKeys(keys);
    log('info', 'Read the API keys again', { keys: keys.length });
  }
}

function complain(message: string): void {
  process.stderr.write(`petstore: ${message}\n`);
}

function greeting(
  url: string,
  place: string,
  madeKey: string | undefined,
  hasPage: boolean,
): string {
  // A wildcard address is where the service listens, not where a client can reach it.
  const base = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  const key = madeKey ?? '<your API key>';
  const note =
    madeKey === undefined
      ? ''
      : `No API key is configured, so one was made for this run: ${madeKey}\n`;
  return `Petstore ${VERSION} listens on ${url} (process ${process.pid})
and ${place}
${note}
${hasPage ? `Open ${base}/ in a browser, or add` : 'Add'} a pet, then list the pets:

  curl -H 'Authorization: Bearer ${key}' -d '{"name":"Rex","categoryId":1}' -H 'Content-Type: application/json' ${base}/v1/pets
  curl -H 'Authorization: Bearer ${key}' ${base}/v1/pets
`;
}
