/**
 * Stores on libraries that Node programs save JSON with, each used as its own page shows, and this
 * project's own. The libraries are fetched into a temporary folder: they are no dependency.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmCommand } from '../build.mjs';
import { progress } from '../progress.mjs';
import { endingWithThis, withTemporaryFolder } from '../temporary-folder.mjs';
import { exitCodeOf, printProblems, printVerdicts } from './report.mjs';
import { tryStore } from './trial.mjs';

/** @import { Verdict } from './trial.mjs' */

/**
 * Returns a module whose store keeps the items in an array, and saves all of them.
 * @param {string} imports
 * @param {string} save An expression that saves `text` at `path`.
 */
function saving(imports, save) {
  return `import { readFile } from 'node:fs/promises';
${imports}
export async function open(path) {
  const items = JSON.parse(
    await readFile(path, 'utf8').catch((error) => {
      if (error.code === 'ENOENT') return '[]';
      throw error;
    }),
  );
  return {
    async add(item) {
      items.push(item);
      const text = JSON.stringify(items);
      await ${save};
    },
    all: () => items,
  };
}
`;
}

const NEDB = `import util from 'node:util';
// It calls these, which Node 23 has removed.
util.isDate ??= util.types.isDate;
util.isRegExp ??= util.types.isRegExp;
util.isArray ??= Array.isArray;
const { default: Datastore } = await import('nedb');
const call = (begin) =>
  new Promise((resolve, reject) => begin((error) => (error ? reject(error) : resolve())));
export async function open(path) {
  const db = new Datastore({ filename: path });
  await call((done) => db.loadDatabase(done));
  return {
    add: (item) => call((done) => db.insert({ ...item }, done)),
    all: () => db.getAllData().map(({ id, text }) => ({ id, text })),
  };
}
`;

const LOWDB = `import { JSONFilePreset } from 'lowdb/node';
export async function open(path) {
  const db = await JSONFilePreset(path, { items: [] });
  return { add: (item) => db.update(({ items }) => items.push(item)), all: () => db.data.items };
}
`;

/** @param {string} path */
const urlOf = (path) => new URL(`../../.build/src/${path}`, import.meta.url).href;

/**
 * Returns a module for a store of this project, whose pets are the items.
 * @param {string} url
 * @param {string} opened An expression that opens the store of the module at this URL at `path`.
 */
export function ours(url, opened) {
  return `import * as module from '${url.replaceAll("'", '%27')}';
import { nodeDisk } from '${urlOf('core/store/node-disk.js')}';
export async function open(path) {
  const store = await ${opened};
  return {
    add: (item) => store.create({ name: JSON.stringify(item), categoryId: BigInt(item.id) }),
    async all() {
      const { text } = await store.list({ limit: 1000 });
      return JSON.parse(text).map(({ name }) => JSON.parse(name));
    },
    close: () => store.close?.(),
  };
}
`;
}

/**
 * The texts of the modules, by the name of the store, or by the library and its version.
 * @type {Record<string, string>}
 */
const PEERS = {
  'fs.writeFileSync': saving("import fs from 'node:fs';", 'fs.writeFileSync(path, text)'),
  'lowdb@7.0.1': LOWDB,
  'write-file-atomic@7.0.1': saving(
    "import writeFileAtomic from 'write-file-atomic';",
    'writeFileAtomic(path, text)',
  ),
  'atomically@2.1.1': saving("import { writeFile } from 'atomically';", 'writeFile(path, text)'),
  'nedb@1.8.0': NEDB,
  'rung 2': ours(urlOf('ladder/2-json-file.js'), 'module.openJsonFileStore(path, nodeDisk)'),
  'rung 3': ours(urlOf('ladder/3-append.js'), 'module.openAppendStore(path, nodeDisk)'),
  'the core': ours(urlOf('core/store/file-store.js'), 'module.openFileStore({ path })'),
};

/** @param {boolean} isMarkdown */
export async function judgePeers(isMarkdown) {
  console.error('About 2 minutes');
  /** @type {[name: string, verdict: Verdict][]} */
  const verdicts = [];
  await withTemporaryFolder('peers', undefined, async (folder) => {
    for (const [peer, text] of Object.entries(PEERS)) {
      const [name = '', version] = peer.split('@');
      progress(name);
      const own = join(folder, name.replaceAll(' ', '-'));
      mkdirSync(own);
      if (version !== undefined && !(await fetchInto(own, peer))) {
        progress('');
        console.log(`${peer} is skipped: npm cannot fetch it`);
        continue;
      }
      const module = join(own, 'store.mjs');
      writeFileSync(module, text);
      const verdict = await tryStore(module, (what) => progress(what && `${name}: ${what}`));
      verdicts.push([peer.replace('@', ' '), verdict]);
      progress('');
      if (verdict.problems.size + verdict.notes.size > 0) console.log(`${name}:`);
      printProblems(verdict);
      const isOwn = text.includes('nodeDisk');
      if (isOwn && exitCodeOf(verdict) !== 0) process.exitCode = 1;
    }
  });
  printVerdicts(verdicts, isMarkdown);
  const date = new Date().toISOString().slice(0, 10);
  console.log(
    `\n${date}, Node ${process.versions.node}: in how many of the tried states an item is lost`,
  );
}

/**
 * Resolves with false if the library cannot be installed there.
 * @param {string} folder
 * @param {string} library
 */
async function fetchInto(folder, library) {
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--fetch-retries=0'];
  const [npm, ...args] = npmCommand(['install', ...quiet, library]);
  const shell = process.platform === 'win32' && npm === 'npm';
  const child = endingWithThis(spawn(npm, args, { cwd: folder, stdio: 'ignore', shell }));
  const [code] = await once(child, 'close').catch(() => [1]);
  return code === 0;
}
