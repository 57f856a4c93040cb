/** Carried as the sources: a checkout without an installation and without a build. */

import assert from 'node:assert/strict';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { assertServes, findNpm, npmEnv, pathWithThisNode, ROOT } from '../support/process/carry.ts';
import { outputOf, runNode } from '../support/process/process.ts';
import { KEY, openService } from '../support/http/service.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { needs, run } from '../support/process/program.ts';

const canRunSources = Boolean((process.features as { typescript?: unknown }).typescript);
const needsStripping = {
  skip: !canRunSources && `needs a Node that runs TypeScript (22.18), not ${process.version}`,
};
const npm = findNpm();

const START_NEEDS = ['src', 'package.json', 'package-lock.json', 'scripts', 'tsconfig.json'];

function checkout(t: TestContext, names: readonly string[]): string {
  const folder = tempDir(t);
  for (const name of names) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  return folder;
}

test('src/ and package.json alone serve with node src/server.ts', needsStripping, async (t) => {
  const cwd = checkout(t, ['src', 'package.json']);
  const log = await assertServes(t, [process.execPath, 'src/server.ts'], { cwd });
  for (const line of log.trim().split('\n')) JSON.parse(line);
});

/** An npm that only shows what it would install, and then fails, as without a registry. */
function dryNpm(folder: string): string {
  const script = join(folder, 'npm.mjs');
  const call = `spawnSync(process.execPath, ['${npm}', ...process.argv.slice(2), '--dry-run']`;
  const text = `import { spawnSync } from 'node:child_process';
${call}, { stdio: 'inherit' });
console.error('npm was asked');
process.exit(1);
`;
  writeFileSync(script, text);
  return script;
}

const PLATFORM = `@typescript/typescript-${process.platform}-${process.arch}`;

/** An environment for production, and an npm that is to omit two kinds of packages. */
const OMITTING = { NODE_ENV: 'production', npm_config_omit: 'dev\n\noptional' };

test(
  'npm start serves, or installs the compiler, whatever npm is to omit, and says why it cannot',
  { skip: npm === undefined && 'needs npm' },
  async (t) => {
    const cwd = checkout(t, START_NEEDS);
    const env = {
      ...npmEnv(cwd, pathWithThisNode(join(tempDir(t), 'bin'))),
      ...{ npm_execpath: dryNpm(tempDir(t)), ...OMITTING },
    };
    const script = 'scripts/start.mjs';
    if (canRunSources) {
      const log = await assertServes(t, [process.execPath, script], { cwd, env });
      assert.doesNotMatch(log, /npm was asked/);
    }
    const build = canRunSources ? 'scripts/build.mjs' : script;
    const { code, stdout, stderr } = await runNode([build], { cwd, env });
    assert.equal(code, 1);
    for (const needed of ['typescript', PLATFORM, '@types/node']) {
      assert.match(stdout, new RegExp(`^add ${needed} `, 'm'));
    }
    const reason = 'Node.js 22.18 or later needs none, nor does a built dist/\n';
    assert.ok(stderr.endsWith(`The compiler cannot be installed; ${reason}`), stderr);
  },
);

test('The conformance kit runs from a clone without an installation', needsStripping, async (t) => {
  const { origin } = await openService(t);
  const kit = ['scripts/start.mjs', 'conformance', `${origin}/v1`, '--key', KEY, '--only', '8'];
  await outputOf(kit, { cwd: checkout(t, START_NEEDS) });
});

test('A clone on Windows has the line ends of the repository', needs('git'), (t) => {
  if (!existsSync(join(ROOT, '.git'))) return t.skip('this is not a clone');
  const cwd = join(tempDir(t), 'clone');
  const clone = run('git', ['clone', '--quiet', '--config', 'core.autocrlf=true', ROOT, cwd]);
  assert.equal(clone.status, 0, clone.text);
  // Each file in the index, in the working tree, and how .gitattributes has it.
  const lines = run('git', ['-C', cwd, 'ls-files', '--eol']).text.trimEnd().split('\n');
  assert.ok(lines.length > 100);
  for (const line of lines) assert.match(line, /^i\/(lf|-text) +w\/\1 /);
});
