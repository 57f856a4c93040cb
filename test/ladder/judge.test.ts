/**
 * The judge of any store: it finds each planted fault, and nothing in a store without one. The
 * stores are the rungs of the ladder and their broken variants, on the real file system.
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { tempDir } from '../support/disk/temp-dir.ts';
import { isWhole } from '../support/extent.ts';
import { runScript } from '../support/process/process.ts';
import { patchedModule } from './stores.ts';
import { ROWS, type Row } from './variants.ts';

/** The columns of the judge in which a row loses an item. A rung is sound. */
const LOSSES: Readonly<Record<string, string>> = {
  '3-append': '',
  'in-place and short-writes':
    'kill, power failure, short write, failed write, full disk, full then room, failed sync',
  'no-sync': 'power failure',
  'no-folder-sync': 'power failure',
  'syncs-again': 'failed sync',
  'early-answer': 'power failure',
  unproven: 'power failure',
};

/** Without --all: one that is sound, and one that loses items in each column. */
const SAMPLE: readonly string[] = ['3-append', 'in-place and short-writes'];

for (const [name, columns] of Object.entries(LOSSES)) {
  const losses =
    columns === '' ? [] : columns.replace('full then', 'full, then').split(/, (?!then)/);
  if (!isWhole && !SAMPLE.includes(name)) continue;
  test(`The judge finds what ${name} loses, and shows how`, async (t) => {
    const [row, ...others] = name
      .split(' and ')
      .map((one) => ROWS.find((row) => row.name === one)!);
    const patches = [row!, ...others].flatMap((one) => one.patches);
    const { code, stdout } = await judge(t, moduleOf({ ...row!, patches }));
    assert.equal(code, losses.length === 0 ? 0 : 1, stdout);
    const [heads = [], , cells = []] = stdout.split('\n').map((line) => line.split('|'));
    const losing = heads.filter((_, at) => /^ \*\*[1-9]/.test(cells[at] ?? ''));
    assert.deepEqual(
      losing.map((head) => head.trim()),
      losses,
    );
    const shown = stdout.matchAll(/^(\w.*):(?:\n +1 {2}\w| the same life as for ".*"$)/gm);
    assert.deepEqual(
      Array.from(shown, ([, column]) => column),
      losses,
    );
    // Each life is shown once.
    const texts = stdout.split(/\n(?=\w.*:\n)/).slice(1);
    assert.equal(new Set(texts.map((text) => text.split('\n').slice(1).join())).size, texts.length);
    if (losses.includes('short write')) assert.match(stdout, / bytes to .*: is made in part, /);
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

/** Returns the text of a module whose items are pets of the row's store. */
function moduleOf(row: Row): string {
  const nodeDisk = new URL('../../src/core/store/node-disk.js', import.meta.url).href;
  return `import * as module from '${patchedModule(row).replaceAll("'", '%27')}';
import { nodeDisk } from '${nodeDisk}';
export async function open(path) {
  const store = await (module.openJsonFileStore ?? module.openAppendStore)(path, nodeDisk);
  return {
    add: (item) => store.create({ name: JSON.stringify(item), categoryId: BigInt(item.id) }),
    all: () => JSON.parse(store.list({ limit: 1000 }).text).map(({ name }) => JSON.parse(name)),
  };
}
`;
}
