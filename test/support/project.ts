/** The files of the project, for tests that read them. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder. Compiled tests are in `.build/test`. */
export const ROOT: string = fileURLToPath(
  new URL('../../', import.meta.url.replace('/.build/', '/')),
);

/** Returns the text of a file, whose path is from the root. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Returns the paths, from the root, of everything in a folder and below it. */
export function pathsIn(folder: string): readonly string[] {
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.map((name) => `${folder}/${name.replaceAll('\\', '/')}`);
}

/** Returns the only block of this language, on a page of the project, that contains the text. */
export function blockOf(page: string, language: string, text = ''): string {
  const found = readText(page)
    .split('\n```')
    .filter((block) => block.startsWith(`${language}\n`) && block.includes(text));
  assert.equal(found.length, 1, `${found.length} blocks of ${language} with ${text} on ${page}`);
  return `${found[0]!.slice(language.length + 1)}\n`;
}

/** Returns the id that GitHub gives to a heading. */
export function headingId(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** The links of a page, in Markdown and in HTML, without those to other sites: file and heading. */
export const LINKS: RegExp = /(?:\]\(|src(?:set)?=")([^):#"]*)(?:#([^)]*))?[)"]/g;
