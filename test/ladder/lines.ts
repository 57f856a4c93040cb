/** Where a line of the project is, so that pages and reports can name it by its number. */

import { basename } from 'node:path';
import { pathsIn, readText } from '../support/project.ts';
import type { Line, Row } from './variants.ts';

/** Returns the path and the number of the first line with the text. Throws if there is none. */
export function whereIs({ file, text }: Line): string {
  for (const path of pathsIn('src').filter((path) => basename(path) === file)) {
    const index = readText(path)
      .split('\n')
      .findIndex((line) => line.includes(text));
    if (index !== -1) return `${path}:${index + 1}`;
  }
  throw new Error(`No ${file} has the line ${text}`);
}

/** A line of a rung that a variant changes. */
export interface ChangedLine {
  readonly where: string;
  readonly before: string;
  /** Empty if the variant leaves the line out. */
  readonly after: string;
}

export function changedLines({ rung, patches }: Row): readonly ChangedLine[] {
  return patches.map(([from, to]) => {
    const where = whereIs({ file: `${rung}.ts`, text: from });
    const [path = '', number] = where.split(':');
    const before = readText(path).split('\n')[Number(number) - 1]!.trim();
    return { where, before, after: before.replace(from, () => to) };
  });
}
