/** Calls of the program, and what each of them prints. */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command, Context } from '../../src/process/command-line.ts';
import { COMMANDS, HELP, runProgram } from '../../src/process/commands.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { runNode, SERVER_JS } from '../support/process/process.ts';

type Env = Readonly<Record<string, string>>;

/** Arguments, environment, exit code, and all of the one stream that is not empty. */
export type Call = readonly [args: string, env: Env, code: number, output: string | RegExp];

export const A_PATH = 'the path of a file, without a slash at its end, or its file: URL';
export const NOT_CONFIGURED: RegExp = /^petstore: As configured, the service has no data file: /;

/** Runs a command in this process, which takes a tenth of the time of another one. */
export async function runHere(args: readonly string[], cwd: string, env: Env = {}) {
  let [stdout, stderr] = ['', ''];
  const context: Context = {
    env,
    print: (text) => void (stdout += text.endsWith('\n') ? text : `${text}\n`),
    printError: (text) => void (stderr += `petstore: ${text}\n`),
    showProgress: () => undefined,
  };
  const before = process.cwd();
  process.chdir(cwd);
  const service: Command = { usage: HELP, read: () => assert.fail('It is a command') };
  const code = await runProgram(args, service, context).finally(() => process.chdir(before));
  return { code, stdout, stderr };
}

/** Declares a test for each call. */
export function testCalls(calls: readonly Call[]): void {
  for (const [args, env, code, output] of calls) {
    test(`petstore ${args} with ${JSON.stringify(env)} exits with ${code}`, async (t) => {
      const cwd = tempDir(t);
      fs.mkdirSync(join(cwd, 'data'));
      fs.writeFileSync(join(cwd, 'mine.json'), '[]');
      fs.writeFileSync(join(cwd, 'keys'), 'sha256:12\nok\n');
      const words = args.split(' ');
      const isCommand = words[0]! in COMMANDS;
      const run = isCommand
        ? await runHere(words, cwd, env)
        : await runNode([SERVER_JS, ...words], { cwd, env });
      assert.equal(run.code, code);
      const [text, empty] = code === 0 ? [run.stdout, run.stderr] : [run.stderr, run.stdout];
      if (typeof output === 'string') assert.equal(text, output);
      else assert.match(text, output);
      assert.equal(empty, '');
    });
  }
}
