/**
 * The floor plan: a file of src/ imports from lower layers or its own folder, and nothing else.
 *
 * The README's map is the plan: the layers that this test checks are read from it.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../src/base/version.ts';

/** Found from this file's compiled place, .build/test. */
const root = fileURLToPath(new URL('../../', import.meta.url));

/** The folders of each layer, from the lowest up; a file outside a folder is one by itself. */
const LAYERS = readLayers(readFileSync(join(root, 'README.md'), 'utf8'));

/** Reads the map: a line with a number begins a layer, and its continuation lines have none. */
function readLayers(readme: string): readonly (readonly string[])[] {
  const [, map = ''] = /^```\n( *[0-9]+ {2}server\.ts[^]*?)^```$/m.exec(readme) ?? [];
  const layers = Array.from(map.matchAll(/^ *([0-9]+) [^]*?(?=^ *[0-9]+ |$(?![^]))/gm));
  const numbers = layers.map(([, number]) => Number(number)).reverse();
  assert.deepEqual(numbers, [...numbers.keys()], 'The layers of the README are numbered from 0 up');
  const names = layers.map(([text]) => text.match(/\b[a-z/-]+(?:\/|\.ts)(?=\s)/g) ?? []);
  return names.reverse().map((row) => row.map((name) => name.replace(/\/$/, '')));
}

const roomOf = (file: string): string | undefined =>
  LAYERS.flat().find((room) => file === room || file.startsWith(`${room}/`));
const layerOf = (file: string): number =>
  LAYERS.findIndex((rooms) => rooms.some((room) => room === roomOf(file)));

const sources = new Map<string, string>();
for (const name of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
  if (!name.includes('.') || /\.(md|yaml)$/.test(name)) continue;
  const text = readFileSync(join(root, 'src', name), 'utf8');
  // Comments speak of other rooms, and of the process.
  sources.set(name.replaceAll('\\', '/'), text.replace(/^\s*\/\*[^]*?\*\/|(?<=^|\s)\/\/.*/gm, ''));
}

const imports = new Map<string, readonly string[]>();
for (const [file, text] of sources) {
  const found = text.matchAll(/\b(?:from\s|import\b\s*\(?|require\()\s*(['"`])(.+?)\1/g);
  const names = Array.from(found, (match) => match[2]!);
  imports.set(
    file,
    names.filter((name) => !name.startsWith('node:')),
  );
}

const targetOf = (file: string, name: string): string =>
  join(dirname(file), name).replaceAll('\\', '/');

test('Every source file is a TypeScript file that is on the map of the README', () => {
  assert.ok(sources.size > 20);
  for (const file of sources.keys()) {
    assert.match(file, /^([a-z0-9-]+\/){0,2}[a-z0-9-]+\.ts$/);
    assert.notEqual(layerOf(file), -1, `src/${file} is in no layer of the map in README.md`);
  }
});

test('Every entry of the map exists, and is on the map once', () => {
  const rooms = LAYERS.flat();
  assert.deepEqual([...new Set(rooms)], rooms);
  for (const room of rooms) assert.ok(existsSync(join(root, 'src', room)), room);
});

test('Every import is of a file of our own, by its name with .ts, or of node:', () => {
  for (const [file, names] of imports) {
    for (const name of names) {
      assert.match(name, /^\.\.?\/.+\.ts$/, `${file} imports ${name}`);
      assert.ok(sources.has(targetOf(file, name)), `${file} imports ${name}, which is not there`);
    }
  }
});

test('Every import is of a lower layer or of the same folder', () => {
  for (const [file, names] of imports) {
    for (const target of names.map((name) => targetOf(file, name))) {
      const isAllowed = layerOf(target) < layerOf(file) || roomOf(target) === roomOf(file);
      assert.ok(isAllowed, `${file} imports ${target}`);
    }
  }
});

test('The room http knows nothing of pets, only the name of the program', () => {
  for (const [file, text] of sources) {
    if (roomOf(file) !== 'http') continue;
    assert.doesNotMatch(text, /\bpet(?!store\b)|Pet/, `${file} speaks of pets`);
    for (const name of imports.get(file) ?? []) {
      const room = roomOf(targetOf(file, name))!;
      assert.ok(['http', 'base'].includes(room), `${file} imports ${name}`);
    }
  }
});

test('The kit knows nothing of this service: it imports its own room and base', () => {
  for (const file of sources.keys()) {
    if (roomOf(file) !== 'kit') continue;
    for (const name of imports.get(file) ?? []) {
      assert.ok(['kit', 'base'].includes(roomOf(targetOf(file, name))!), `${file} imports ${name}`);
    }
  }
});

test('No imports run in a circle', () => {
  const checked = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `A circle: ${[...path, file].join(' → ')}`);
    if (checked.has(file)) return;
    for (const name of imports.get(file) ?? []) visit(targetOf(file, name), [...path, file]);
    checked.add(file);
  };
  for (const file of sources.keys()) visit(file, []);
});

test('The client and all that it imports need nothing of Node', () => {
  const needed = new Set(['client/client.ts']);
  // A set is walked to what is added on the way.
  for (const file of needed) {
    for (const name of imports.get(file) ?? []) needed.add(targetOf(file, name));
  }
  for (const shared of ['base/exact-json.ts', 'base/link-header.ts', 'model/pet.ts']) {
    assert.ok(needed.has(shared), shared);
  }
  const ofNode =
    /\bnode:|\b(Buffer|process|require|global|setImmediate|NodeJS|__dirname|__filename)\b/;
  for (const file of needed) {
    const found = ofNode.exec(sources.get(file)!);
    assert.equal(found, null, `${file}, which the client needs, has ${found?.[0]}`);
  }
});

test('Only what is started touches the process, and the disk and its lock: for whom, and who holds it', () => {
  const touchesProcess = /\bprocess(\?\.|[.[])\S|[=({]\s*process\b|\bnode:process\b|\bglobalThis\b/;
  const files = [...sources].filter(([, text]) => touchesProcess.test(text)).map(([file]) => file);
  const onDisk = ['stores/file/lock.ts', 'stores/file/node-disk.ts'];
  const commands = ['check-data', 'commands', 'conformance', 'copy-pets', 'init-etcd', 'make-key'];
  const started = [...commands.map((name) => `commands/${name}.ts`), 'server.ts'];
  const ofKit = ['kit/command.ts', 'kit/suite.ts'];
  assert.deepEqual(files.sort(), [...started, ...ofKit, ...onDisk].sort());
});

test('The top level has the agreed entries, and nothing else that is not hidden or ignored', () => {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n');
  const isIgnored = (name: string): boolean =>
    ignored.includes(`${name}/`) || ignored.includes(`*${extname(name)}`);
  const entries = readdirSync(root).filter((name) => !name.startsWith('.') && !isIgnored(name));
  const folders = ['scripts', 'src', 'test'];
  const files = ['README.md', 'package-lock.json', 'package.json', 'tsconfig.json'];
  assert.deepEqual(entries.sort(), [...files, ...folders].sort());
});

test('The version is that of package.json, and the only packages are two for development', () => {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const manifest = JSON.parse(text) as Record<string, unknown>;
  assert.equal(VERSION, manifest['version']);
  const packages = Object.keys(manifest['devDependencies'] as object);
  assert.deepEqual(packages.sort(), ['@types/node', 'typescript']);
  const kinds = Object.keys(manifest).filter((key) => /dependencies/i.test(key));
  assert.deepEqual(kinds, ['devDependencies']);
});
