/**
 * A cluster of real etcd members on loopback. Their data is in a temporary folder, and they end
 * with the test or file that started them.
 *
 * The program is that of TEST_ETCD, or `etcd` on the PATH. Without one, the tests that need it are
 * skipped, for the reason in `withoutEtcd`.
 */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { tempDir } from '../disk/temp-dir.ts';
import { until } from '../until.ts';

const ETCD: string = process.env['TEST_ETCD'] ?? 'etcd';

/** For a test's `skip`: false if there is an etcd to test with. */
export const withoutEtcd: string | false =
  spawnSync(ETCD, ['--version']).status === 0
    ? false
    : 'There is no etcd to test with: name one by TEST_ETCD, or put it on the PATH';

/** The options of a test with real members. */
export const needsEtcd = { skip: withoutEtcd } as const;

// CI sets it: a skipped test is a failed one there.
if (withoutEtcd !== false && process.env['NEED_ETCD'] !== undefined) throw new Error(withoutEtcd);

export type Cluster = Awaited<ReturnType<typeof startCluster>>;

/**
 * Starts the members, with more arguments for each; the cluster ends with the context at the
 * latest. `isSecure` is true if the arguments have certificates: the client URLs are https.
 */
export async function startCluster(
  context: { after(hook: () => void | Promise<void>): void },
  { size = 3, args = [] as readonly string[], isSecure = false } = {},
) {
  const folder = tempDir(context);
  const ports = await Promise.all(Array.from({ length: 2 * size }, memberPort));
  const names = Array.from({ length: size }, (_, i) => `m${i}`);
  const peerUrls = names.map((_, i) => `http://127.0.0.1:${ports[2 * i]}`);
  const scheme = isSecure ? 'https' : 'http';
  const endpoints = names.map((_, i) => `${scheme}://127.0.0.1:${ports[2 * i + 1]}`);
  const peers = names.map((name, i) => `${name}=${peerUrls[i]}`);
  const members = names.map((name, i) =>
    startMember(endpoints[i] ?? '', [
      ...['--name', name, '--data-dir', join(folder, name), '--log-level', 'error'],
      ...['--listen-peer-urls', `${peerUrls[i]}`],
      ...['--initial-advertise-peer-urls', `${peerUrls[i]}`],
      ...['--listen-client-urls', `${endpoints[i]}`, '--advertise-client-urls', `${endpoints[i]}`],
      ...['--initial-cluster', peers.join(','), '--initial-cluster-state', 'new'],
      // An election takes half as long as by default, and the hash of a password no time.
      ...['--heartbeat-interval', '50', '--election-timeout', '500', '--bcrypt-cost', '4'],
      ...args,
    ]),
  );
  /** Resolves when all members answer. */
  const ready = async (): Promise<void> => {
    if (isSecure) return;
    for (const { endpoint } of members) await until(() => answers(endpoint));
  };
  context.after(async () => void (await Promise.all(members.map((member) => member.kill()))));
  await ready();
  return {
    ...{ members, endpoints, ready },
    /** POSTs to the gateway of the first member. */
    call: (path: string, body: object) => gateway(endpoints[0] ?? '', path, body),
  };
}

/** Starts the cluster of a test file. It has no members if there is no etcd. */
export async function clusterOfFile(size: number): Promise<Cluster> {
  return startCluster({ after }, { size: withoutEtcd === false ? size : 0 });
}

function startMember(endpoint: string, args: readonly string[]) {
  const start = (): ChildProcess => spawn(ETCD, args, { stdio: 'ignore' });
  let child = start();
  return {
    endpoint,
    /** For the bench. */
    pid: () => child.pid,
    /** Sends a signal: SIGSTOP and SIGCONT, too. */
    signal: (signal: NodeJS.Signals): void => void child.kill(signal),
    /** Kills the member, and resolves when it has ended. */
    async kill(): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    /** Starts the member again on its data. */
    restart: (): void => void (child = start()),
  };
}

/** POSTs to a gateway. Resolves with the text of the response. */
export async function gateway(
  endpoint: string,
  path: string,
  body: object,
  token?: string,
): Promise<string> {
  const response = await fetch(`${endpoint}${path}`, {
    ...{ method: 'POST', body: JSON.stringify(body) },
    headers: token === undefined ? {} : { Authorization: token },
  });
  return response.text();
}

export const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

/** The range of the etcd keys that begin with the prefix, which ends in a slash. */
export const rangeOf = (prefix: string): { readonly key: string; readonly range_end: string } => ({
  key: base64(prefix),
  range_end: base64(`${prefix.slice(0, -1)}0`),
});

/** A linearizable read is answered if the cluster has a leader; without one it takes seconds. */
async function answers(endpoint: string): Promise<boolean> {
  const status = await gateway(endpoint, '/v3/maintenance/status', {}).catch(String);
  if (!status.includes('"leader"')) return false;
  const read = gateway(endpoint, '/v3/kv/range', { key: base64('a') });
  return (await read.catch(String)).includes('cluster_id');
}

/**
 * Resolves with a port below those that systems give to connections, and of a range that other
 * processes of tests do not use at the same time: a member that is killed gets it back.
 */
async function memberPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + (process.pid % 400) * 50 + portsTaken;
    portsTaken += 1;
    const server = createServer();
    const isFree = once(server.listen(port, '127.0.0.1'), 'listening').then(
      () => true,
      () => false,
    );
    if (!(await isFree)) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

let portsTaken = 0;
