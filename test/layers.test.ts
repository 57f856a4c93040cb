/**
 * The rooms: a file of src/ imports only from its own room and from rooms further down. The test
 * reads them from the map in the README, from the top down; the rooms of a row are beside each
 * other, and import nothing from each other.
 */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { VERSION } from '../src/base/version.ts';
import { pathsIn, readText, ROOT } from './support/project.ts';

/** The rows of the map, from the lowest up. A file outside a folder counts as a room. */
const ROWS: readonly (readonly string[])[] = readRows(readText('README.md'));

function readRows(readme: string): readonly (readonly string[])[] {
  const [, map = ''] = /^```\n(server\.ts[^]*?)^```$/m.exec(readme) ?? [];
  const rows = map.split('\n').map((row) => row.split(/ {3}|  (?=[^ ]+ [^ ])/)[0]!);
  const names = rows.map((row) => row.match(/\b[a-z]+(?:\/|\.ts)(?=\s|$)/g) ?? []);
  return names.reverse().map((row) => row.map((name) => name.replace(/\/$/, '')));
}

const roomOf = (file: string): string | undefined =>
  ROWS.flat().find((room) => file === room || file.startsWith(`${room}/`));
const rowOf = (file: string): number =>
  ROWS.findIndex((rooms) => rooms.some((room) => room === roomOf(file)));

/** The code by the path of its file, without comments, which may name other folders. */
const sources = new Map(
  pathsIn('src')
    .filter((path) => path.includes('.') && !/\.(md|yaml)$/.test(path))
    .map((path) => {
      const code = readText(path).replace(/^\s*\/\*[^]*?\*\/|(?<=^|\s)\/\/.*/gm, '');
      return [path.slice('src/'.length), code] as const;
    }),
);

/** By file: the files that it imports; a package has its name. */
const imports = new Map(
  [...sources].map(([file, code]) => {
    const found = code.matchAll(/\b(?:from\s|import\b\s*\(?|require\()\s*(['"`])(.+?)\1/g);
    const names = Array.from(found, (match) => match[2]!);
    const ours = names.filter((name) => !name.startsWith('node:'));
    const targets = ours.map((name) => (name.startsWith('.') ? join(dirname(file), name) : name));
    return [file, targets.map((target) => target.replaceAll('\\', '/'))] as const;
  }),
);

test('Every source file is a TypeScript file that is on the map of the README', () => {
  assert.ok(sources.size > 20);
  for (const file of sources.keys()) {
    assert.match(file, /^([a-z0-9-]+\/){0,2}[a-z0-9-]+\.ts$/);
    assert.notEqual(rowOf(file), -1, `src/${file} is on no row of the map in README.md`);
  }
});

test('Every entry of the map exists, and is on the map once', () => {
  const rooms = ROWS.flat();
  assert.deepEqual([...new Set(rooms)], rooms);
  for (const room of rooms) assert.ok(existsSync(join(ROOT, 'src', room)), room);
});

test('Every import is a file of src, from its own room or one further down', () => {
  for (const [file, targets] of imports) {
    for (const target of targets) {
      const isBelow = rowOf(target) < rowOf(file) || roomOf(target) === roomOf(file);
      assert.ok(sources.has(target) && isBelow, `${file} imports ${target}`);
    }
  }
});

test('src/http could serve anything, src/kit ask any service: they import only src/base', () => {
  for (const [file, targets] of imports) {
    const room = roomOf(file)!;
    if (room !== 'http' && room !== 'kit') continue;
    for (const target of targets) assert.match(target, new RegExp(`^(${room}|base)/`), file);
  }
});

test('src/http does not know about pets, except the name of the program', () => {
  for (const [file, text] of sources) {
    const isKnown = roomOf(file) === 'http' && /\bpet(?!store\b)|Pet/.test(text);
    assert.ok(!isKnown, `${file} speaks of pets`);
  }
});

test('No imports form a cycle', () => {
  const checked = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `A cycle: ${[...path, file].join(' → ')}`);
    if (checked.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
    checked.add(file);
  };
  for (const file of sources.keys()) visit(file, []);
});

test('Only the process, the suite of the kit and rung 1 use the process, except node-disk.ts and flock.ts for owner and holder', () => {
  const touchesProcess = /\bprocess(\?\.|[.[])\S|[=({]\s*process\b|\bnode:process\b|\bglobalThis\b/;
  const files = [...sources].filter(([, text]) => touchesProcess.test(text)).map(([file]) => file);
  const onDisk = ['stores/file/flock.ts', 'stores/file/node-disk.ts'];
  assert.deepEqual(files.sort(), ['kit/suite.ts', 'ladder/1-plain.ts', 'server.ts', ...onDisk].sort());
});

test('The version is that of package.json, and the only packages are two for development', () => {
  const manifest = JSON.parse(readText('package.json')) as Record<string, unknown>;
  assert.equal(VERSION, manifest['version']);
  const packages = Object.keys(manifest['devDependencies'] as object);
  assert.deepEqual(packages.sort(), ['@types/node', 'typescript']);
  const kinds = Object.keys(manifest).filter((key) => /dependencies/i.test(key));
  assert.deepEqual(kinds, ['devDependencies']);
});
