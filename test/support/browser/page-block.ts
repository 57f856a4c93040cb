/** Reads the fenced code blocks of a page, so that tests can run them. */

import assert from 'node:assert/strict';
import { readText } from '../project.ts';

/** Returns the only block of this language, on a page of the project, that contains the text. */
export function blockOf(page: string, language: string, text = ''): string {
  const found = readText(page)
    .split('\n```')
    .filter((block) => block.startsWith(`${language}\n`) && block.includes(text));
  assert.equal(found.length, 1, `${found.length} blocks of ${language} with ${text} on ${page}`);
  return `${found[0]!.slice(language.length + 1)}\n`;
}
