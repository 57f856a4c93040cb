/**
 * The proxies and the systemd units in src/ops/README.md: each program accepts its block; a proxy
 * serves the service with it, and a start waits as the unit says.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CERTIFICATE_PEM, KEY_PEM } from '../support/process/certificate.ts';
import { blockOf } from '../support/browser/page-block.ts';
import { end, portOf, runNode, startFor, startProgram } from '../support/process/process.ts';
import { needs, pathOf, run } from '../support/process/program.ts';
import { freePort, KEY, listenFor, openService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const PAGE = 'src/ops/README.md';
const ADDRESS = '127.0.0.1:8080';

/** A proxy, and its configuration: the block of the page for this machine, and what it needs. */
interface Proxy {
  readonly program: string;
  readonly scheme: 'http' | 'https';
  configuration(block: Block, folder: string, port: number): string;
  /** The arguments before the file: to check it, and to serve with it. */
  readonly check: readonly string[];
  readonly serve: readonly string[];
}

/** Returns the block of the page with these texts replaced. */
type Block = (texts: Readonly<Record<string, string>>) => string;

const NGINX: Proxy = {
  program: 'nginx',
  scheme: 'https',
  configuration(block, folder, port) {
    const server = block({
      '/etc/ssl/pets.example.pem': join(folder, 'cert.pem'),
      '/etc/ssl/pets.example.key': join(folder, 'key.pem'),
      'listen 443': `listen 127.0.0.1:${port}`,
    });
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const own = paths.map((name) => `${name}_temp_path ${join(folder, name)};`).join('\n');
    const main = `daemon off; master_process off; pid ${join(folder, 'pid')}; error_log stderr;`;
    return `${main}\nevents {}\nhttp {\naccess_log off;\n${own}\n${server}}\n`;
  },
  check: ['-t', '-c'],
  serve: ['-c'],
};

const CADDY: Proxy = {
  program: 'caddy',
  scheme: 'http',
  // With the name of a host Caddy would ask for a certificate.
  configuration: (block, _folder, port) =>
    `{\n\tadmin off\n}\n${block({ 'pets.example {': `http://127.0.0.1:${port} {` })}`,
  check: ['validate', '--adapter', 'caddyfile', '--config'],
  serve: ['run', '--adapter', 'caddyfile', '--config'],
};

const HAPROXY: Proxy = {
  program: 'haproxy',
  scheme: 'https',
  configuration: (block, folder, port) =>
    block({
      '/etc/ssl/pets.example-with-key.pem': join(folder, 'both.pem'),
      'bind :443': `bind 127.0.0.1:${port}`,
    }),
  check: ['-c', '-f'],
  serve: ['-db', '-f'],
};

/** Sends a request with the key, and resolves with the response and its body. */
async function send(
  origin: string,
  path: string,
  body?: string,
): Promise<{ readonly response: IncomingMessage; readonly text: string }> {
  const request = origin.startsWith('https') ? requestHttps : requestHttp;
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
  const method = body === undefined ? 'GET' : 'POST';
  const sent = request(`${origin}${path}`, { method, headers, ca: CERTIFICATE_PEM, agent: false });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { response, text: (await response.toArray()).join('') };
}

for (const proxy of [NGINX, CADDY, HAPROXY]) {
  const { program, scheme } = proxy;

  test(`${program} accepts its block, and serves with it`, needs(program), async (t) => {
    const [folder, port] = [tempDir(t), await freePort()];
    const service = await openService(t, { prefix: '/shop' });
    const block: Block = (texts) => {
      let text = blockOf(PAGE, program);
      for (const [from, to] of Object.entries({
        [ADDRESS]: `127.0.0.1:${service.port}`,
        ...texts,
      })) {
        assert.ok(text.includes(from), `The block has no ${from}`);
        text = text.replaceAll(from, to);
      }
      return text;
    };
    const file = join(folder, 'config');
    writeFileSync(file, proxy.configuration(block, folder, port));
    writeFileSync(join(folder, 'cert.pem'), CERTIFICATE_PEM);
    writeFileSync(join(folder, 'key.pem'), KEY_PEM);
    writeFileSync(join(folder, 'both.pem'), CERTIFICATE_PEM + KEY_PEM);
    const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    const { status: checked, text } = run(program, [...proxy.check, file], home);
    assert.equal(checked, 0, text);
    assert.doesNotMatch(text, /warn|alert|emerg|not formatted/i);
    const started = startProgram(pathOf(program)!, [...proxy.serve, file], { env: home });
    t.after(() => end(started, 'SIGKILL'));
    const origin = `${scheme}://127.0.0.1:${port}`;
    const statusNow = async (): Promise<number | undefined> =>
      (await send(origin, '/shop/livez').catch(() => undefined))?.response.statusCode;
    let status = await statusNow();
    for (; status === undefined; status = await statusNow()) {
      assert.equal(started.child.exitCode, null, started.stderr());
      await sleep(50);
    }
    assert.equal(status, 200);
    const created = await send(origin, '/shop/v1/pets', '{"name":"Rex","categoryId":7}');
    assert.equal(created.response.statusCode, 201);
    assert.equal(created.response.headers.location, '/shop/v1/pets/1');
    const list = await send(origin, '/shop/v1/pets?limit=1');
    assert.equal(list.text, `[${created.text}]`);
    // An encoded slash stays in its segment only if the proxy passes the path unchanged.
    const unknown = await send(origin, '/shop/v1/pets/%2F1');
    assert.match(unknown.text, /^\{"code":"not_found",/);
    assert.notEqual((await send(origin, '/v1/pets')).text, list.text);
  });
}

const UNIT = blockOf(PAGE, 'ini', '[Service]');

test('systemd-analyze accepts both units of the page', needs('systemd-analyze'), (t) => {
  const folder = tempDir(t);
  const units = { 'petstore.service': UNIT, 'petstore.socket': blockOf(PAGE, 'ini', '[Socket]') };
  assert.ok(units['petstore.socket'].includes(`ListenStream=${ADDRESS}\n`));
  for (const [name, unit] of Object.entries(units)) {
    writeFileSync(join(folder, name), unit.replaceAll('/usr/bin/node', process.execPath));
  }
  const paths = Object.keys(units).map((name) => join(folder, name));
  // The output has lines about units of the machine, too.
  const { text } = run('systemd-analyze', ['verify', ...paths]);
  const ours = text.split('\n').filter((line) => line.includes('petstore'));
  assert.deepEqual(ours, []);
});

/** Returns the arguments of ExecStartPost=, as systemd parses them. */
function waitArguments(port: number): readonly string[] {
  const [, command = ''] = /^ExecStartPost=\/usr\/bin\/node ((?:.*\\\n)*.*)$/m.exec(UNIT) ?? [];
  // To systemd, a backslash at the end of a line is a blank, and double quotes make one word.
  const joined = command.replaceAll('\\\n', ' ').replace('127.0.0.1:8080', `127.0.0.1:${port}`);
  const [, words = '', quoted = ''] = /^([^"]*) "([^"]*)"$/.exec(joined) ?? [];
  assert.ok(quoted.includes('/readyz'), command);
  // systemd would replace these.
  assert.doesNotMatch(command, /[$%]/);
  return [...words.split(' '), quoted];
}

/** Waits as the unit does. Resolves with the exit code. */
async function wait(port: number, mainPid: number | undefined): Promise<number | string> {
  return (await runNode(waitArguments(port), { env: { MAINPID: String(mainPid) } })).code;
}

test('The unit waits until the service is ready, while it responds with 503', async (t) => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(asked < 4 ? 503 : 200).end();
  });
  assert.equal(await wait(await listenFor(t, server), process.pid), 0);
  assert.equal(asked, 4);
});

test('The unit stops waiting if the service has ended', async (t) => {
  const service = startFor(t, ['--port', '0', '--memory']);
  const port = await portOf(service);
  const { pid } = service.child;
  await end(service, 'SIGKILL');
  assert.equal(await wait(port, pid), 1);
});
