/**
 * The command `petstore conformance`: runs the checks and prints the report. For a reporter of Node
 * it runs the suite in another process, since a reporter is an option of Node.
 *
 * Each option is also a variable of the environment, so that `node --test` can run the suite as an
 * ordinary test file.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command, Context, Environment, FlagKind } from '../base/command-line.ts';
import { parseInt64 } from '../base/int64.ts';
import { VERSION } from '../base/version.ts';
import { INTERFACE_VERSION, LEVELS, type Check, type Level } from './check.ts';
import { CHECKS, checksOf, isOf } from './checks.ts';
import { reportOf } from './report.ts';
import { openRun, type RunOptions } from './run.ts';
import type { HeaderFields } from './test-client.ts';

const OPTIONS: readonly (readonly [name: string, argument: string, help: string])[] = [
  ['key', 'KEY', 'an API key of the service; or CONFORMANCE_API_KEY'],
  ['level', 'LEVEL', `${LEVELS.join(', ')}: each includes those before it`],
  ['', '', '(interface by default, all with --only)'],
  ['only', 'ID', 'one check, or all of a section: 4.1; can be repeated'],
  ['list', '', 'print the checks and run none'],
  ['wait', 'TIME', 'wait for a service that is starting: 10s, 2m'],
  ['header', "'Name: value'", 'add a header field to each request; can be repeated'],
  ['category', 'ID', 'a category id that the service accepts (1)'],
  ['expected-failures', 'FILE', 'ids of checks that are known to fail, one per line, # comments'],
  ['strict', '', 'require the decisions of this project, too'],
  ['reporter', 'NAME', "one of Node's (spec, tap, junit, dot) instead of the report"],
  ['output', 'FILE', "write that reporter's output to FILE, and print the report, too"],
  ['version', '', 'print the versions of the kit and of the specification'],
  ['help', '', 'print this help'],
];

const OPTIONS_HELP = OPTIONS.map(([name, argument, help]) => {
  return `  ${`${name && `--${name}`} ${argument}`.padEnd(26)}${help}\n`;
}).join('');

const HELP = `Checks a pet store service against the specification, sentence by sentence.

Usage: petstore conformance BASE_URL [options]

  BASE_URL                  the base URL, which ends in /v1: https://host/v1
${OPTIONS_HELP}
The checks add a few hundred pets, most of whose names begin with Conformance, and remove none.
For a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.

Exit code: 0 if all required checks pass, 1 if one fails, 2 if nothing was checked (wrong usage, a
key that is not accepted, no service at the address), or if the service stopped responding, so that
the result is incomplete.
`;

type Print = Context['print'];

export const conformance: Command = {
  usage: HELP,
  version: `kit ${VERSION}, interface ${INTERFACE_VERSION}\n`,
  flags: Object.fromEntries(
    OPTIONS.map(([name, argument]): readonly [string, FlagKind] => {
      const isRepeated = name === 'only' || name === 'header';
      return [name, argument === '' ? 'plain' : isRepeated ? 'texts' : 'text'];
    }),
  ),
  operands: 1,
  read({ flags, operands: [url], mistakes }, { env, print }) {
    const given = withVariables(url === undefined ? flags : new Map([...flags, ['url', url]]), env);
    if (flags.has('list')) {
      const checks = readChecks(given, 'http', mistakes);
      const lines = checks.map(({ id, sentence }) => `${id.padEnd(32)} ${sentence}\n`);
      return async () => print(lines.join(''));
    }
    const settings = readSettings(given, mistakes);
    return async () => {
      try {
        if (settings.reporter === '') return await runChecks(settings, print);
        return await runSuite(settings, given, env);
      } catch (error) {
        process.stderr.write(`petstore: ${(error as Error).message}\n`);
        return 2;
      }
    };
  },
};

const PROGRESS_MS = 2000;

async function runChecks({ checks, output, ...options }: Settings, print: Print): Promise<number> {
  // Before the run, since a file that cannot be written to is a mistake in the command.
  if (output !== '') writeFileSync(output, '');
  const run = await openRun(options);
  print(`${run.title}\n`);
  let printedAt = Date.now();
  for (const check of checks) {
    await run.outcomeOf(check);
    if (Date.now() - printedAt < PROGRESS_MS) continue;
    printedAt = Date.now();
    print(`  Checks done: ${run.outcomes.length}, last: ${check.id}\n`);
  }
  const report = reportOf(run.outcomes);
  print(report);
  if (output !== '') writeFileSync(output, `${run.title}\n${report}`);
  if (run.isGone) throw new Error('the service no longer responds');
  return run.outcomes.some(({ kind }) => kind === 'fail') ? 1 : 0;
}

/** Runs the suite in another process. It prints the report, too, if the reporter has a file. */
async function runSuite(
  { reporter, output }: Settings,
  given: Given,
  env: Environment,
): Promise<number> {
  // `.js` if this file is compiled, else `.ts`.
  const suite = fileURLToPath(import.meta.url.replace(/command(\.[jt]s)$/, 'suite$1'));
  const destination = output || 'stdout';
  const args = [`--test-reporter=${reporter}`, `--test-reporter-destination=${destination}`, suite];
  const options = Array.from(given, ([name, text]) => [
    variableOf(name),
    name === 'strict' ? 'true' : text,
  ]);
  const suiteEnv = { ...env, ...Object.fromEntries(options) };
  const child = spawn(process.execPath, args, { env: suiteEnv, stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  // Node has codes of its own, for example 7 for an unknown reporter.
  return code === 0 || code === 1 ? code : 2;
}

/** The values of options, and the base URL as `url`. Repeated ones are lines. */
type Given = ReadonlyMap<string, string>;

export interface Settings extends RunOptions {
  readonly checks: readonly Check[];
  /** How long to wait for a service that is starting. */
  readonly waitMs: number;
  /** A reporter of Node, or an empty text. */
  readonly reporter: string;
  /** A file for the output of the reporter, or for the report; or an empty text. */
  readonly output: string;
}

/** Reads the settings of the suite. Throws an Error with all that is wrong. */
export function readSuiteSettings(env: Environment): Settings {
  const mistakes: string[] = [];
  const settings = readSettings(withVariables(new Map(), env), mistakes);
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  return settings;
}

/** Adds the options that only the environment has. */
function withVariables(given: Given, env: Environment): Given {
  const others = ['url', ...OPTIONS.map(([name]) => name)].map((name) => {
    return [name, env[variableOf(name)] ?? ''] as const;
  });
  return new Map([...others.filter(([, text]) => text !== ''), ...given]);
}

function variableOf(option: string): string {
  const words = { key: 'api-key', header: 'headers' }[option] ?? option;
  return `CONFORMANCE_${words.replaceAll('-', '_').toUpperCase()}`;
}

/** Reads all settings, and adds what is wrong with them to the mistakes. */
function readSettings(given: Given, mistakes: string[]): Settings {
  const textOf = (option: string): string => given.get(option)?.trim() ?? '';
  const key = textOf('key');
  if (!/^[!-~]+$/.test(key)) mistakes.push('An API key is needed: --key, or CONFORMANCE_API_KEY');
  const category = parseInt64(textOf('category') || '1');
  if (category === undefined) {
    mistakes.push(`--category must be an integer, not "${textOf('category')}"`);
  }
  const [, digits, unit] = /^([0-9]{1,4})(s|m)$/.exec(textOf('wait') || '0s') ?? [];
  if (unit === undefined) {
    mistakes.push(`--wait must be a time such as 10s, not "${textOf('wait')}"`);
  }
  return {
    baseUrl: readBaseUrl(textOf('url'), mistakes),
    key,
    checks: readChecks(given, given.has('only') ? 'http' : 'interface', mistakes),
    headers: readHeaders(linesOf(given.get('header')), mistakes),
    categoryId: category,
    expectedFailures: readExpectedFailures(textOf('expected-failures'), mistakes),
    isStrict: given.has('strict'),
    waitMs: Number(digits) * (unit === 's' ? 1000 : 60_000),
    reporter: textOf('reporter'),
    output: textOf('output'),
  };
}

/** Returns the lines that are not empty. */
function linesOf(text = ''): readonly string[] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

/** Returns the checks of --level and --only. */
function readChecks(given: Given, defaultLevel: Level, mistakes: string[]): readonly Check[] {
  const only = linesOf(given.get('only'));
  const unknown = only.find((name) => !CHECKS.some((check) => isOf(check)(name)));
  const text = given.get('level')?.trim() ?? defaultLevel;
  const level = LEVELS.find((known) => known === text);
  const checks = checksOf(level ?? 'http', only);
  if (level === undefined) mistakes.push(`--level is ${LEVELS.join(', ')}, not "${text}"`);
  if (unknown !== undefined) mistakes.push(`--only: there is no check ${unknown}, see --list`);
  else if (checks.length === 0) {
    mistakes.push(`--only ${only.join()} has no check at the level ${text}`);
  }
  return checks;
}

/** Returns the base URL without a trailing slash. */
function readBaseUrl(text: string, mistakes: string[]): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const path = url?.pathname.replace(/\/$/, '') ?? '';
  if (text === '') mistakes.push('A base URL is needed, such as https://host/v1');
  else if (url === undefined || !/^https?:$/.test(url.protocol)) {
    mistakes.push(`The base URL must begin with http:// or https://, not "${text}"`);
  } else if (!path.endsWith('/v1')) {
    mistakes.push(`The base URL must end in /v1, not "${text}"`);
  }
  return `${url?.origin}${path}`;
}

function readHeaders(lines: readonly string[], mistakes: string[]): HeaderFields {
  const fields = lines.map((line) => {
    const [, name, value = ''] = /^([!#$%&'*+.^`|~\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (name === undefined) mistakes.push(`--header must be 'Name: value', not "${line}"`);
    return [name, value];
  });
  return Object.fromEntries(fields) as HeaderFields;
}

/** Reads a file with one id per line and comments after #. */
function readExpectedFailures(path: string, mistakes: string[]): readonly string[] {
  try {
    const ids = path === '' ? [] : linesOf(readFileSync(path, 'utf8').replace(/#.*/g, ''));
    const unknown = ids.filter((id) => !CHECKS.some((check) => check.id === id));
    mistakes.push(...unknown.map((id) => `${path}: there is no check ${id}`));
    return ids;
  } catch (error) {
    mistakes.push(`--expected-failures: ${(error as Error).message}`);
    return [];
  }
}
