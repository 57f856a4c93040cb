/**
 * The rooms of the house: what may import what.
 *
 *     server.ts  index.ts → process/ → app.ts → extras/* → core/*
 *
 * The core stands alone. An extra imports the core and no other extra, so it can be taken away.
 * The map in the README has the rooms from the top down: a file imports only from its own room and
 * from rooms further down, and rooms of one row import nothing from each other.
 */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { VERSION } from '../src/core/base/version.ts';
import { pathsIn, readText, ROOT } from './support/project.ts';

/** The rows of the map, from the lowest up. A file outside a folder counts as a room. */
const ROWS: readonly (readonly string[])[] = readRows(readText('README.md'));

function readRows(readme: string): readonly (readonly string[])[] {
  const [, map = ''] = /^```\n(server\.ts[^]*?)^```$/m.exec(readme) ?? [];
  const rows = map.split(/\n─+\n/).map((row) => row.split('\n').flatMap(namesIn));
  return rows.reverse();
}

/** Returns the rooms that a line of the map begins with. */
function namesIn(line: string): readonly string[] {
  const [names = ''] = line.split(/ {3,}/);
  return names.match(/[a-z/-]+(?:\/|\.ts)(?=\s|$)/g)?.map((name) => name.replace(/\/$/, '')) ?? [];
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

/** Yields each import of a file that begins with `start`. */
function* importsBelow(start: string): Generator<readonly [file: string, target: string]> {
  for (const [file, targets] of imports) {
    if (file.startsWith(start)) for (const target of targets) yield [file, target];
  }
}

test('Every source file is a TypeScript file that is on the map of the README', () => {
  assert.ok(sources.size > 20);
  for (const file of sources.keys()) {
    assert.match(file, /^([a-z0-9-]+\/){0,3}[a-z0-9-]+\.ts$/);
    assert.notEqual(rowOf(file), -1, `src/${file} is on no row of the map in README.md`);
  }
});

test('Every entry of the map exists, and is on the map once', () => {
  const rooms = ROWS.flat();
  assert.ok(rooms.length > 10);
  assert.deepEqual([...new Set(rooms)], rooms);
  for (const room of rooms) assert.ok(existsSync(join(ROOT, 'src', room)), room);
});

test('Every import is a file of src, from its own room or one further down', () => {
  for (const [file, target] of importsBelow('')) {
    const isBelow = rowOf(target) < rowOf(file) || roomOf(target) === roomOf(file);
    assert.ok(sources.has(target) && isBelow, `${file} imports ${target}`);
  }
});

test('The core does not name an extra', () => {
  for (const [file, text] of sources) {
    if (!file.startsWith('core/')) continue;
    const [name] = /etcd|prometheus|metrics|cors\b|openapi|conformance/i.exec(text) ?? [];
    assert.equal(name, undefined, `${file} speaks of ${name}`);
  }
});

test('An extra imports the core and no other extra, except that the page calls the client', () => {
  for (const [file, target] of importsBelow('extras/')) {
    const isPage = roomOf(file) === 'extras/web' && roomOf(target) === 'extras/client';
    const isOwn = target.startsWith('core/') || roomOf(target) === roomOf(file);
    assert.ok(isOwn || isPage, `${file} imports ${target}`);
  }
});

test('Only app.ts, index.ts, server.ts and the file of its name in process/ import an extra', () => {
  for (const [file, target] of importsBelow('')) {
    const [, extra] = /^extras\/([^/]+)\//.exec(target) ?? [];
    if (extra === undefined || file.startsWith('extras/')) continue;
    const isAllowed = /^(app|index|server)\.ts$/.test(file) || file === `process/${extra}.ts`;
    assert.ok(isAllowed, `${file} imports ${target}`);
  }
});

test('Only server.ts and the tables of settings and commands import what process/ has of extras', () => {
  const ofExtras = new Set(
    [...sources.keys()].flatMap((file) => {
      const [, extra] = /^extras\/([^/]+)/.exec(file) ?? [];
      return extra === undefined ? [] : [`process/${extra}.ts`];
    }),
  );
  const tables = ['server.ts', 'process/config.ts', 'process/commands.ts'];
  const found = [...importsBelow('')].filter(([, target]) => ofExtras.has(target));
  assert.ok(found.length > 2);
  for (const [file, target] of found) assert.ok(tables.includes(file), `${file} imports ${target}`);
});

test('core/http could serve anything, extras/kit ask any service: they import only core/base', () => {
  for (const room of ['core/http', 'extras/kit']) {
    for (const [file, target] of importsBelow(`${room}/`)) {
      assert.ok(target.startsWith(`${room}/`) || target.startsWith('core/base/'), file);
    }
  }
});

test('core/http does not know about pets', () => {
  for (const [file, text] of sources) {
    const isKnown = file.startsWith('core/http/') && /pet/i.test(text);
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

test('Only server.ts and rung 1 use the process, except for owner and holder of a file, and for warnings', () => {
  const touchesProcess =
    /\bprocess(\?\.|[.[])\S|[=({,]\s*process\s*[,);}]|\bnode:process\b|\bglobalThis\b/;
  const files = [...sources].filter(([, text]) => touchesProcess.test(text)).map(([file]) => file);
  const onDisk = ['core/store/flock.ts', 'core/store/node-disk.ts'];
  const expected = ['ladder/1-plain.ts', 'server.ts', 'core/base/logger.ts', ...onDisk];
  assert.deepEqual(files.sort(), expected.sort());
});

test('The version is that of package.json, and the only packages are two for development', () => {
  const manifest = JSON.parse(readText('package.json')) as Record<string, unknown>;
  assert.equal(VERSION, manifest['version']);
  const packages = Object.keys(manifest['devDependencies'] as object);
  assert.deepEqual(packages.sort(), ['@types/node', 'typescript']);
  const kinds = Object.keys(manifest).filter((key) => /dependencies/i.test(key));
  assert.deepEqual(kinds, ['devDependencies']);
});
