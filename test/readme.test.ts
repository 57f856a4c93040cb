/** The README: its files and commands are there, its map and its table of traceability are true. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checksOf } from '../src/kit/checks.ts';

/** Found from this file's compiled place, .build/test. */
const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

const sources = ['src', 'test', 'scripts'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => ({
    name,
    path: join(root, folder, name),
  })),
);

test('Each file that the README names is there', () => {
  const names = Array.from(readme.matchAll(/`([a-z0-9./-]+\.(?:ts|mjs))`/g), (match) => match[1]!);
  assert.ok(names.length > 50);
  // In a text, a file goes by its last name, and a name at home by its room or from the root.
  const isThere = (name: string): boolean =>
    existsSync(join(root, name)) ||
    sources.some((file) => file.name === name || file.name.endsWith(`/${name}`)) ||
    EXAMPLES.includes(name);
  assert.deepEqual(
    names.filter((name) => !isThere(name)),
    [],
  );
});

/** What a reader would write. */
const EXAMPLES = ['api/count-pets.ts'];

test('Each room of src is on the map, and each on the map is there', () => {
  const map = /^```\n(7 {2}server\.ts[^]*?)^```$/m.exec(readme)?.[1] ?? '';
  const shown = map.match(/\b[a-z-]+(?:\/|\.ts)(?=\s)/g) ?? [];
  const rooms = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );
  assert.deepEqual([...shown].sort(), rooms.sort());
});

test('Each npm command that the README shows is one of package.json', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const commands = Array.from(readme.matchAll(/\bnpm (?:run )?(\w+)\b/g), (match) => match[1]!);
  const own = commands.filter((name) => !NPM_COMMANDS.includes(name));
  assert.deepEqual(
    [...new Set(own)].filter((name) => !(name in manifest.scripts)),
    [],
  );
});

const NPM_COMMANDS = ['alone', 'and', 'ci', 'install', 'pack', 'package'];

/** The table is in the page of the tests, or else in the README. */
const testsPage = join(root, 'test', 'README.md');
const page = existsSync(testsPage) ? readFileSync(testsPage, 'utf8') : readme;

test('The table of traceability has every sentence of the interface, and a check for each', () => {
  const table = page.slice(page.indexOf('## Traceability'));
  const rows = table.matchAll(/^\| [0-9., ]+ \| (.+) \| `\S+` \| `(\S+)` \|$/gm);
  const checkIn = new Map([...rows].map(([, sentence, file]) => [unescaped(sentence!), file!]));
  for (const { sentence } of checksOf('interface')) {
    assert.ok(checkIn.has(sentence), `Not in the table: ${sentence}`);
  }
  for (const [sentence, file] of checkIn) {
    const path = sources.find(({ name }) => name === file || name.endsWith(`/${file}`))?.path ?? '';
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const isThere = [`'${sentence}'`, `"${sentence}"`].some((quoted) => text.includes(quoted));
    assert.ok(isThere, `Not in ${file}: ${sentence}`);
  }
});

function unescaped(markdown: string): string {
  return markdown.replaceAll('\\', '');
}
