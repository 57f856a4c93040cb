/**
 * Positions in the sources instead of positions in what the compiler made of them: a text may have
 * any number of them, such as a stack, or a log of a process that a test has started.
 *
 *     .build/test/wire/stopping.test.js:31:7      test/wire/stopping.test.ts:40:9
 *     file:///home/ann/petstore/dist/app.js:12    src/app.ts:20
 *
 * The compiler writes maps into .build only. They hold for dist/, too, whose code is the same.
 * `node --enable-source-maps` would need them there, and in the environment of each process.
 */

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './build.mjs';

/** @type {Map<string, SourceMap | undefined>} */
const maps = new Map();

const roots = [pathToFileURL(root).href, root].map((path) =>
  path.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
);
/** The root is missing in a path from the project's folder. */
const POSITION = new RegExp(
  String.raw`(?:${roots.join('|')}|(?<![\w./\\-]))(\.build|dist)[/\\]([\w./\\-]+)\.js(?::(\d+)(?::(\d+))?)?`,
  'g',
);

/**
 * Returns the text with the positions of the sources.
 * @param {string} text
 */
export function toSources(text) {
  return text.replaceAll(POSITION, sourceOf);
}

/**
 * @param {string} found
 * @param {string} folder
 * @param {string} path
 * @param {string} [line]
 * @param {string} [column]
 */
function sourceOf(found, folder, path, line, column) {
  const compiled = (folder === 'dist' ? `src/${path}` : path).replaceAll('\\', '/');
  const map = mapOf(compiled);
  // `node dist/server.js` is a command.
  if (map === undefined || (line === undefined && folder === 'dist')) return found;
  if (line === undefined) return `${compiled}.ts`;
  // Without a column, the last position of the line counts.
  const at = column === undefined ? Infinity : Number(column) - 1;
  const entry = map.findEntry(Number(line) - 1, at);
  if (!('originalLine' in entry)) return found;
  const end = column === undefined ? '' : `:${entry.originalColumn + 1}`;
  return `${compiled}.ts:${entry.originalLine + 1}${end}`;
}

/** @param {string} compiled */
function mapOf(compiled) {
  if (!maps.has(compiled)) {
    const path = join(root, '.build', `${compiled}.js.map`);
    const map = existsSync(path)
      ? new SourceMap(JSON.parse(readFileSync(path, 'utf8')))
      : undefined;
    maps.set(compiled, map);
  }
  return maps.get(compiled);
}
