/** Reads the fenced code blocks of a page, so that tests can run them. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Found from this file's compiled place, .build/test/support. */
const root = new URL('../../../../', import.meta.url);

/** Returns the only block of this language, on a page of the project, that contains the text. */
export function blockOf(page: string, language: string, text = ''): string {
  const found = readPage(page)
    .split('\n```')
    .filter((block) => block.startsWith(`${language}\n`) && block.includes(text));
  assert.equal(found.length, 1, `${found.length} blocks of ${language} with ${text} on ${page}`);
  return `${found[0]!.slice(language.length + 1)}\n`;
}

export function readPage(page: string): string {
  return readFileSync(fileURLToPath(new URL(page, root)), 'utf8');
}
