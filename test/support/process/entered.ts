/** Which files and functions of the built service some work enters, by V8's precise coverage. */

import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Entered {
  /** Paths from `folder`. */
  readonly files: readonly string[];
  readonly functions: number;
}

/** Resolves with the files of a folder that the work enters, and how many of their functions. */
export async function enteredBy(folder: string, work: () => Promise<void>): Promise<Entered> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const files: string[] = [];
  let functions = 0;
  for (const { url, functions: all } of result) {
    if (!url.startsWith('file:')) continue;
    const path = relative(folder, fileURLToPath(url));
    if (path.startsWith('..')) continue;
    const called = all.filter(({ ranges: [whole] }) => whole!.count > 0);
    if (called.length > 0) files.push(path);
    functions += called.length;
  }
  return { files: files.sort(), functions };
}
