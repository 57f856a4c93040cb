/** Runs scripts as a user does, with their output in pipes. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface ScriptResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script by its name in `scripts/`, with PATH and `env` only. */
export async function runScript(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ScriptResult> {
  const script = fileURLToPath(new URL(`../../../../scripts/${name}`, import.meta.url));
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, 'close')) as [number | null];
  const [stdout, stderr] = await output;
  return { code, stdout, stderr };
}
