/** Programs that are not of the project: where they are, and what a check by one of them says. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Daemons are there, where another user's PATH may not look. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];

/**
 * The options of a test that needs a program: it is skipped, and says so, where that is missing.
 */
export function needs(name: string): { readonly skip: string | false } {
  return { skip: pathOf(name) === undefined && `${name} is not installed` };
}

/** The path of a program that a test needs. */
export function pathOf(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Runs a program to its end, and returns its exit code and all that it wrote. */
export function run(
  name: string,
  args: readonly string[],
  env: Record<string, string> = {},
): { readonly status: number | null; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(pathOf(name) ?? name, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...env },
  });
  return { status, text: `${stdout}${stderr}` };
}
