/**
 * A cluster of real etcd members on loopback, for one test file; their data is in a folder of its
 * own, and they end with the file.
 *
 * The program is that of TEST_ETCD, or `etcd` on the PATH. Where there is none, the tests that need
 * it are skipped: `withoutEtcd` has the line that says so.
 */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tempDir } from '../disk/temp-dir.ts';

const ETCD: string = process.env['TEST_ETCD'] ?? 'etcd';

/** For a test's `skip`: false where there is an etcd to test with. */
export const withoutEtcd: string | false =
  spawnSync(ETCD, ['--version']).status === 0
    ? false
    : 'There is no etcd to test with: name one by TEST_ETCD, or put it on the PATH';

// Where the engine must be there, a skipped test is a failed one.
if (withoutEtcd !== false && process.env['NEED_ETCD'] !== undefined) throw new Error(withoutEtcd);

const START_MS = 30_000;

export interface EtcdMember {
  readonly endpoint: string;
  readonly child: ChildProcess;
  /** Sends a signal: SIGSTOP and SIGCONT too. */
  signal(signal: NodeJS.Signals): void;
  /** Kills it, and resolves when it is gone. */
  kill(): Promise<void>;
  /** What it has on its disk. */
  readonly dataFolder: string;
  /** Starts it again, with what it has on its disk; later arguments override earlier ones. */
  restart(moreArgs?: readonly string[]): void;
}

export interface Cluster {
  readonly members: readonly EtcdMember[];
  readonly endpoints: readonly string[];
  /** Resolves when every member answers. */
  ready(): Promise<void>;
  /** The member that leads at present, as one that answers has it. */
  leader(): Promise<EtcdMember>;
  /** Ends all members. */
  close(): Promise<void>;
}

export interface ClusterOptions {
  readonly size?: number;
  /** More arguments for each member. */
  readonly args?: readonly string[];
  /** The members' client URLs are https, when their certificates are among the arguments. */
  readonly isSecure?: boolean;
}

/** Starts the members; the cluster ends with the context at the latest. */
export async function startCluster(
  context: { after(hook: () => void | Promise<void>): void },
  { size = 3, args = [], isSecure = false }: ClusterOptions = {},
): Promise<Cluster> {
  const folder = tempDir(context);
  const ports = await freePorts(2 * size);
  const names = Array.from({ length: size }, (_, i) => `m${i}`);
  const peerUrls = names.map((_, i) => `http://127.0.0.1:${ports[2 * i]}`);
  const scheme = isSecure ? 'https' : 'http';
  const clientUrls = names.map((_, i) => `${scheme}://127.0.0.1:${ports[2 * i + 1]}`);
  const initial = names.map((name, i) => `${name}=${peerUrls[i]}`).join(',');
  const members = names.map((name, i) =>
    startMember(clientUrls[i] ?? '', join(folder, name), [
      ...['--name', name, '--data-dir', join(folder, name)],
      ...[
        '--listen-peer-urls',
        peerUrls[i] ?? '',
        '--initial-advertise-peer-urls',
        peerUrls[i] ?? '',
      ],
      ...[
        '--listen-client-urls',
        clientUrls[i] ?? '',
        '--advertise-client-urls',
        clientUrls[i] ?? '',
      ],
      ...['--initial-cluster', initial, '--initial-cluster-state', 'new', '--log-level', 'error'],
      ...args,
    ]),
  );
  const cluster: Cluster = {
    members,
    endpoints: clientUrls,
    ready: async () => {
      if (isSecure) return;
      await Promise.all(members.map(({ endpoint }) => answering(endpoint)));
    },
    leader: () => findLeader(members),
    close: async () => {
      await Promise.all(members.map((member) => member.kill()));
    },
  };
  context.after(() => cluster.close());
  await cluster.ready();
  return cluster;
}

function startMember(endpoint: string, dataFolder: string, args: readonly string[]): EtcdMember {
  const start = (moreArgs: readonly string[] = []): ChildProcess =>
    spawn(ETCD, [...args, ...moreArgs], { stdio: 'ignore' });
  let child = start();
  return {
    endpoint,
    dataFolder,
    get child() {
      return child;
    },
    signal: (signal) => void child.kill(signal),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    restart(moreArgs) {
      child = start(moreArgs);
    },
  };
}

/** Ports that nobody listens on at the moment. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

/** POSTs to a gateway, on a connection of its own. */
export function gateway(
  endpoint: string,
  path: string,
  body: string,
  token?: string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${endpoint}${path}`, {
      method: 'POST',
      headers: token === undefined ? {} : { Authorization: token },
      agent: false,
      timeout: 5_000,
    });
    request.on('timeout', () => request.destroy(new Error('No answer from etcd')));
    request.on('error', reject);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
      response.on('error', reject);
    });
    request.end(body);
  });
}

async function answering(endpoint: string): Promise<void> {
  const until = Date.now() + START_MS;
  // A linearizable read: the cluster has a leader when it is answered.
  while (!(await isAnswering(endpoint))) {
    if (Date.now() > until) throw new Error(`${endpoint} does not answer`);
    await sleep(50);
  }
}

async function isAnswering(endpoint: string): Promise<boolean> {
  const text = await gateway(endpoint, '/v3/kv/range', '{"key":"YQ=="}').catch(() => '');
  return text.includes('cluster_id');
}

async function findLeader(members: readonly EtcdMember[]): Promise<EtcdMember> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    for (const member of members) {
      const text = await gateway(member.endpoint, '/v3/maintenance/status', '{}').catch(() => '{}');
      const { header, leader } = JSON.parse(text) as {
        readonly header?: { readonly member_id: string };
        readonly leader?: string;
      };
      if (leader !== undefined && header?.member_id === leader) return member;
    }
    await sleep(50);
  }
  throw new Error('The cluster has no leader');
}
