/** npm run ladder as a command: its words on a mistake, and what is left if a signal ends it. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { runScript, startProgram } from '../support/process/process.ts';
import { ROOT } from '../support/project.ts';
import { until } from '../support/until.ts';

const LADDER = join(ROOT, 'scripts', 'ladder.mjs');

/** Arguments, and the one line about them. */
const MISTAKES: readonly (readonly [args: readonly string[], line: RegExp])[] = [
  [['--judge', 'nosuch.mjs'], /nosuch\.mjs does not exist$/],
  [['--rows', 'nosuch'], /^There is no row "nosuch"\. The rows are 1-plain, /],
  [['--folder', 'nosuch'], /^The folder nosuch does not exist$/],
  [['show', 'nosuch'], /^There is no row "nosuch"\. The rows are 1-plain, /],
  [['show'], /^Use: npm run ladder -- show NAME/],
];

test('The ladder refuses wrong arguments in one line, and explains itself by --help', async () => {
  for (const [args, line] of MISTAKES) {
    const { code, stdout, stderr } = await runScript('ladder.mjs', args);
    assert.match(stderr.trimEnd(), line);
    assert.doesNotMatch(stderr.trimEnd(), /\n/);
    assert.equal(stdout, '');
    assert.equal(code, 2);
  }
  const help = await runScript('ladder.mjs', ['--help']);
  assert.equal(help.code, 0);
  for (const option of ['--rows', '--no-speeds', '--judge'])
    assert.ok(help.stdout.includes(option));
});

/** What keeps a module from being judged. */
const UNUSABLE: readonly (readonly [text: string, why: RegExp])[] = [
  ['export const open = ( => 1;', /it cannot be loaded: Unexpected token/],
  ["import 'nosuch';", /it cannot be loaded: Cannot find package 'nosuch'/],
  ['export const opens = 1;', /it exports no function open\(path\)/],
  ["export const open = () => { throw new Error('No') };", /acknowledges nothing.*fails \(No\)/],
  [
    "export const open = () => ({ add: () => Promise.reject(new Error('Full')), all: () => [] });",
    /acknowledges nothing, .*: refused \(Full\)\n$/,
  ],
  [
    `import fs from 'node:fs';
export const open = (path) => ({
  add: async ({ text }) => fs.appendFileSync(path, text + '\\n'),
  all: () => fs.readFileSync(path, 'utf8').trim().split('\\n'),
});`,
    /: all\(\) does not return \{"id":1,.* as it was added: \["item 1 /,
  ],
];

test('The judge says in one line why a module cannot be judged, without a table', async (t) => {
  const module = join(tempDir(t), 'store.mjs');
  for (const [text, why] of UNUSABLE) {
    writeFileSync(module, text);
    const { code, stdout, stderr } = await runScript('ladder.mjs', ['--judge', module]);
    assert.match(stderr, /^About .*\n.* cannot be judged: .*\n$/);
    assert.match(stderr, why);
    assert.equal(stdout, '');
    assert.equal(code, 2);
  }
});

/** The store of a module that is never done; the port of its process is in the file. */
const ENDLESS = `import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
export const open = (path) => ({
  add() {
    // A process that is left would make its folder again.
    setInterval(() => mkdirSync(dirname(path), { recursive: true }), 1);
    const server = createServer().listen(0, '127.0.0.1', () => {
      writeFileSync(process.env.PORT_FILE, String(server.address().port));
    });
    return new Promise(() => undefined);
  },
  all: () => [],
});
`;

test('The judge leaves no folder and no process if a signal or kill -9 ends it', async (t) => {
  const folder = tempDir(t);
  const module = join(folder, 'store.mjs');
  writeFileSync(module, ENDLESS);
  const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const left = (pid: number | undefined): boolean =>
    readdirSync(parent).some((name) => name.startsWith(`petstore-judge-${pid}-`));
  let last: number | undefined;
  for (const signal of ['SIGINT', 'SIGKILL', 'SIGTERM'] as const) {
    const portFile = join(folder, signal);
    const env = { PORT_FILE: portFile };
    const run = startProgram(process.execPath, [LADDER, '--judge', module], { env });
    await until(() => existsSync(portFile) && readFileSync(portFile, 'utf8') !== '');
    assert.ok(left(run.child.pid));
    // The folder of the one before, which could not remove it itself.
    assert.ok(!left(last));
    last = run.child.pid;
    run.child.kill(signal);
    await run.exit();
    await until(() => isRefused(Number(readFileSync(portFile, 'utf8'))));
    assert.equal(left(last), signal === 'SIGKILL');
  }
});

/** Resolves with true if nobody listens at the port. */
async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const opened = await once(socket, 'connect').catch(() => undefined);
  socket.destroy();
  return opened === undefined;
}
