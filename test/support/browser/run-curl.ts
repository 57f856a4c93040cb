/** Runs a curl line in a shell, without curl. Returns the request that curl would send. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

export const POSIX = { skip: process.platform === 'win32' && 'needs a POSIX shell' };

const CURL = {
  header: { type: 'string', short: 'H', multiple: true, default: [] as string[] },
  data: { type: 'string', short: 'd' },
} as const;

export function runCurl(line: string, env: Record<string, string>): { url: string } & RequestInit {
  const script = `curl() { printf '%s\\0' "$@"; }; ${line}`;
  const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env });
  const args = stdout.split('\0').slice(0, -1);
  const { values, positionals } = parseArgs({ args, options: CURL, allowPositionals: true });
  assert.equal(positionals.length, 1, stdout);
  const headers = values.header.map((field) => field.split(': ') as [string, string]);
  const { data } = values;
  const method = data === undefined ? 'GET' : 'POST';
  return { url: positionals[0]!, method, headers, body: data ?? null };
}
