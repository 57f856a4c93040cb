/**
 * The judge of any store: it finds each planted fault, and nothing in a store without one. The
 * stores are the rungs of the ladder and their broken variants, on the real file system.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tempDir } from '../support/disk/temp-dir.ts';
import { isWhole } from '../support/extent.ts';
import { runScript } from '../support/process/process.ts';
import { ROOT } from '../support/project.ts';
import { patchedModule } from './stores.ts';
import { ROWS } from './variants.ts';

const PEERS = pathToFileURL(join(ROOT, 'scripts/judge/peers.mjs')).href;
const { ours } = (await import(PEERS)) as { ours(url: string, opened: string): string };

/** The column of the judge in which a row loses an item, or each column, or none. */
const LOSSES: Readonly<Record<string, string>> = {
  '3-append': 'none',
  'in-place and short-writes': 'each',
  'no-sync': 'power failure',
  'no-folder-sync': 'power failure',
  'syncs-again': 'failed sync',
  'early-answer': 'power failure',
  unproven: 'power failure',
};

/** Without --all: one that is sound, and one that loses items in each column. */
const SAMPLE: readonly string[] = ['3-append', 'in-place and short-writes'];

for (const [name, column] of Object.entries(LOSSES)) {
  if (!isWhole && !SAMPLE.includes(name)) continue;
  test(`The judge finds what ${name} loses, and shows how`, async (t) => {
    const rows = name.split(' and ').map((one) => ROWS.find((row) => row.name === one)!);
    const patches = rows.flatMap((row) => row.patches);
    const opened = '(module.openJsonFileStore ?? module.openAppendStore)(path, nodeDisk)';
    const text = ours(patchedModule({ ...rows[0]!, patches }), opened);
    const { code, stdout } = await judge(t, text);
    assert.equal(code, column === 'none' ? 0 : 1, stdout);
    const table = stdout.split('\n').map((line) => line.split(/ *\| */).slice(2, -1));
    const [heads = [], , cells = []] = table;
    const losing = heads.filter((_, at) => /^\*\*[1-9]/.test(cells[at] ?? ''));
    const expected = heads.filter((head) => column === 'each' || column === head);
    assert.deepEqual([losing, heads.length], [expected, 7]);
    const losses = stdout.matchAll(/^(\w.*):(?:\n +1 {2}\w| the same life as for ".*"$)/gm);
    const shown = Array.from(losses, ([, head]) => head);
    assert.deepEqual(shown, expected);
    // Each life is shown once.
    const texts = stdout.split(/\n(?=\w.*:\n)/).slice(1);
    assert.equal(new Set(texts.map((text) => text.split('\n').slice(1).join())).size, texts.length);
    if (column === 'each') assert.match(stdout, / bytes to .*: is made in part, /);
  });
}

test('The judge names a call that it does not know', async (t) => {
  const copies = `import { copyFile, writeFile } from 'node:fs/promises';
const items = [];
export const open = (path) => ({
  async add(item) {
    await writeFile(path, '[]');
    await copyFile(path, path + '.copy').catch(() => 0);
    items.push(item);
  },
  all: () => items,
});`;
  const { code, stdout } = await judge(t, copies);
  assert.match(stdout, /^The table may be wrong: .* does not know the call copyFile\n/);
  assert.equal(code, 2);
});

/** Runs the judge on a module with this text. */
function judge(t: TestContext, text: string) {
  const module = join(tempDir(t), 'store.mjs');
  writeFileSync(module, text);
  return runScript('ladder.mjs', ['--markdown', '--judge', module]);
}
