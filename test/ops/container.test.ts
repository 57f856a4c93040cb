/**
 * scripts/Dockerfile and scripts/compose.yaml: a container tool builds and runs them, if one is
 * there. Otherwise what they name is laid out in a folder, and run there by this Node.
 */

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { freePort } from '../support/http/service.ts';
import { end, portOf, runNode, startProgram } from '../support/process/process.ts';
import { run } from '../support/process/program.ts';
import { readText, ROOT } from '../support/project.ts';

const DOCKERFILE = readText('scripts/Dockerfile').replaceAll(/^#.*\n/gm, '');
const COMPOSE = readText('scripts/compose.yaml');

/** Returns the words of an instruction that is a JSON array. */
function arrayOf(instruction: string): readonly string[] {
  const [, array] = new RegExp(`^${instruction} .*?(\\[.*\\])$`, 'm').exec(DOCKERFILE)!;
  return JSON.parse(array!) as string[];
}

/** Whether the Node that runs the tests can run the sources, as that of the image does. */
const canRun = 'typescript' in process.features && process.features.typescript !== false;

test('The files that the image copies are a service, and its health check sees if it runs', async (t) => {
  const folder = tempDir(t);
  const placed = (path: string): string => path.replace(/^\/(?=app|data)/, `${folder}/`);
  for (const [, from = '', to = ''] of DOCKERFILE.matchAll(/^COPY (\S+) (\S+)$/gm)) {
    const target = to.endsWith('/') ? join(placed(to), from) : placed(to);
    cpSync(join(ROOT, from), target, { recursive: true });
  }
  mkdirSync(placed('/data'));
  const fields = DOCKERFILE.matchAll(/(?<=^ENV .*)([A-Z_]+)=(\S+)/gm);
  const env = Object.fromEntries([...fields].map(([, name, value]) => [name, placed(value!)]));
  assert.deepEqual(Object.keys(env), ['HOST', 'PETSTORE_DATA_FILE']);
  const [node, ...args] = arrayOf('CMD').map(placed);
  assert.equal(node, 'node');
  assert.ok(existsSync(args.at(-1)!), args.at(-1));
  if (!canRun) return t.skip('This Node cannot run TypeScript');
  const PREFIX = { PETSTORE_PREFIX: '/shop' };
  const service = startProgram(process.execPath, args, {
    env: { ...env, ...PREFIX, PORT: '0', PETSTORE_API_KEYS: 'key' },
    cwd: folder,
  });
  t.after(() => end(service, 'SIGKILL'));
  const health = { ...PREFIX, PORT: `${await portOf(service)}` };
  const [, ...check] = arrayOf('HEALTHCHECK');
  assert.equal((await runNode(check, { env: health })).code, 0);
  await end(service, 'SIGTERM');
  assert.ok(existsSync(placed('/data/pets.json')));
  assert.equal((await runNode(check, { env: health })).code, 1);
});

test('The unit, the image and the bench start Node with one bound for the heap of what is new', () => {
  const unit = readText('scripts/systemd/petstore.service');
  const [, flag = ''] = /^ExecStart=\S+ (--max-semi-space-size=\d+) /m.exec(unit) ?? [];
  assert.ok(arrayOf('CMD').includes(flag), flag);
  assert.ok(readText('scripts/bench/processes.mjs').includes(`'${flag}'`), flag);
});

test('The compose file names the Dockerfile, its volume and no other path', () => {
  const [, context = '', dockerfile = ''] =
    /build: \{ context: (\S+), dockerfile: (\S+) \}/.exec(COMPOSE) ?? [];
  assert.ok(existsSync(join(ROOT, 'scripts', context, dockerfile)));
  assert.match(COMPOSE, /^ {4}volumes: \['pets:\/data'\]$[^]*^volumes:\n {2}pets:$/m);
  assert.match(COMPOSE, /read_only: true\n/);
  // So that the service is not PID 1, which cannot kill itself if its disk hangs.
  assert.match(COMPOSE, /init: true\n/);
  assert.match(DOCKERFILE, /^USER node$/m);
  assert.match(DOCKERFILE, /^VOLUME \/data$/m);
  assert.match(COMPOSE, /stop_grace_period: 15s\n/);
});

const HOME = { HOME: process.env['HOME'] ?? '' };
const tool = ['docker', 'podman'].find((name) => run(name, ['info'], HOME).status === 0);
const base = /^FROM (\S+)$/m.exec(DOCKERFILE)![1]!;
const isThere = (tool: string): boolean =>
  [
    ['image', 'inspect', base],
    ['pull', base],
  ].some((args) => run(tool, args, HOME).status === 0);

const composer = [['docker', 'compose'], ['podman-compose']].find(
  ([name, ...words]) => run(name!, [...words, 'version'], HOME).status === 0,
);

/** Returns why no container can run here, or false. `podman info` knows nothing of the network. */
function whySkipped(): string | false {
  if (tool === undefined || composer === undefined) return 'no docker or podman with compose here';
  if (!isThere(tool)) return `the image ${base} is not here, and cannot be pulled`;
  const trial = ['run', '--rm', '-p', '127.0.0.1::8080', base, 'node', '-e', '0'];
  const { status, text } = run(tool, trial, HOME);
  return status !== 0 && `${tool} runs no container here: ${text.trim()}`;
}

const skip = whySkipped();

test(
  'A container tool builds the image, and runs it as the compose file says: healthy, with its pets',
  { skip },
  async (t) => {
    const port = await freePort();
    const file = join(tempDir(t), 'compose.yaml');
    const own = COMPOSE.replace('context: ..', `context: ${ROOT}`);
    writeFileSync(file, own.replace('127.0.0.1:8080:', `127.0.0.1:${port}:`));
    const [name, ...words] = composer!;
    const project = `petstore-test-${port}`;
    const compose = (...args: readonly string[]): void => {
      const env = { ...HOME, PETSTORE_API_KEYS: 'key' };
      const { status, text } = run(name!, [...words, '-p', project, '-f', file, ...args], env);
      assert.equal(status, 0, text);
    };
    const pets = async (init: RequestInit = {}): Promise<string> => {
      const url = `http://127.0.0.1:${port}/v1/pets`;
      for (;;) {
        const response = await fetch(url, { headers, ...init }).catch(() => undefined);
        // While it starts, it answers with 503.
        if (response !== undefined && response.status !== 503) return response.text();
        assert.match(run(tool!, ['ps', '--format', '{{.Names}}'], HOME).text, new RegExp(project));
        await sleep(200);
      }
    };
    const headers = { Authorization: 'Bearer key' };
    try {
      compose('up', '--build', '-d');
      await pets({ method: 'POST', body: Buffer.from('{"name":"Rex","categoryId":7}') });
      // podman runs no health check by itself without systemd.
      const { text: id } = run(tool!, ['ps', '--quiet', '--filter', `name=${project}`], HOME);
      assert.equal(run(tool!, ['exec', id.trim(), ...arrayOf('HEALTHCHECK')], HOME).status, 0);
      compose('down');
      compose('up', '-d');
      assert.match(await pets(), /^\[\{"id":1,"name":"Rex"/);
    } finally {
      compose('down', '-v');
      // What stays: the image, as podman-compose or docker compose names it, and podman's network.
      for (const name of [`${project}_petstore`, `${project}-petstore`]) {
        run(tool!, ['rmi', name], HOME);
      }
      run(tool!, ['network', 'rm', `${project}_default`], HOME);
    }
  },
);
