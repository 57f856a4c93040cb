/** Programs that are not part of the project: their paths, and the output of a run. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Daemons are in folders that may be missing in a user's PATH. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];

/** Returns the options of a test that is skipped, with the reason, if a program is missing. */
export function needs(name: string): { readonly skip: string | false } {
  return { skip: pathOf(name) === undefined && `${name} is not installed` };
}

/** Returns the path of a program, or undefined if it is not installed. */
export function pathOf(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Runs a program to its end, and returns its exit code and all that it wrote. */
export function run(name: string, args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(pathOf(name) ?? name, args, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...env },
  });
  return { status, text: `${stdout}${stderr}` };
}

/** Returns the options of a test that needs a terminal. */
export function needsTerminal(): { readonly skip: string | false } {
  const { status } = run('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode']);
  return { skip: status !== 0 && 'Only python3, from 3.9 on, makes a terminal here' };
}
