/** The floor plan: a file of src/ imports from lower floors or its own room, and nothing else. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../src/base/version.ts';

/** Found from this file's compiled place, .build/test. */
const root = fileURLToPath(new URL('../../', import.meta.url));

/** The rooms of each floor, from the ground up; a file outside a folder is a room of its own. */
const FLOORS: readonly (readonly string[])[] = [
  ['base'],
  ['model'],
  ['http', 'client', 'contract', 'kit', 'stores/table', 'stores/keys'],
  ['stores/commits', 'stores/memory-store.ts'],
  ['stores/commit-log.ts'],
  ['stores/log-store.ts'],
  ['stores/file', 'stores/etcd'],
  ['api', 'ops', 'page', 'api-keys', 'handed-socket.ts'],
  ['openapi'],
  ['docs'],
  ['settings.ts'],
  ['app-options.ts', 'app-state.ts', 'config.ts'],
  ['open-backend.ts'],
  ['app.ts'],
  ['index.ts'],
  ['commands'],
  ['server.ts'],
];

const roomOf = (file: string): string | undefined =>
  FLOORS.flat().find((room) => file === room || file.startsWith(`${room}/`));
const floorOf = (file: string): number =>
  FLOORS.findIndex((rooms) => rooms.some((room) => room === roomOf(file)));

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

test('Every source file is a TypeScript file in a known room', () => {
  assert.ok(sources.size > 20);
  for (const file of sources.keys()) {
    assert.match(file, /^([a-z0-9-]+\/){0,2}[a-z0-9-]+\.ts$/);
    assert.notEqual(floorOf(file), -1, `${file} is in no room of the floor plan`);
  }
});

test('Every import is of a file of our own, by its name with .ts, or of node:', () => {
  for (const [file, names] of imports) {
    for (const name of names) {
      assert.match(name, /^\.\.?\/.+\.ts$/, `${file} imports ${name}`);
      assert.ok(sources.has(targetOf(file, name)), `${file} imports ${name}, which is not there`);
    }
  }
});

test('Every import is of a lower floor or of the same room', () => {
  for (const [file, names] of imports) {
    for (const target of names.map((name) => targetOf(file, name))) {
      const isAllowed = floorOf(target) < floorOf(file) || roomOf(target) === roomOf(file);
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

test('The version is that of package.json, and the only packages are two for development', () => {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const manifest = JSON.parse(text) as Record<string, unknown>;
  assert.equal(VERSION, manifest['version']);
  const packages = Object.keys(manifest['devDependencies'] as object);
  assert.deepEqual(packages.sort(), ['@types/node', 'typescript']);
  const kinds = Object.keys(manifest).filter((key) => /dependencies/i.test(key));
  assert.deepEqual(kinds, ['devDependencies']);
});
