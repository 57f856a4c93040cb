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
import { parseArgs } from 'node:util';
import { parseInt64 } from '../base/int64.ts';
import { VERSION } from '../base/version.ts';
import { INTERFACE_VERSION, LEVELS, type Check } from './check.ts';
import { CHECKS, checksOf, isOf } from './checks.ts';
import { reportOf } from './report.ts';
import { openRun, type RunOptions } from './run.ts';

/** An option with an argument can be repeated; if one value is needed, the last one counts. */
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

export const HELP: string = `Checks a pet store service against the specification, sentence by sentence.

Usage: petstore conformance BASE_URL [options]

  BASE_URL                  the base URL, which ends in /v1: https://host/v1
${OPTIONS_HELP}
The checks add a few hundred pets, most of whose names begin with Conformance, and remove none.
For a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.

Exit code: 0 if all required checks pass, 1 if one fails, 2 if nothing was checked (wrong usage, a
key that is not accepted, no service at the address), or if the service stopped responding, so that
the result is incomplete.
`;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The standard streams of a process. */
export type Streams = Readonly<Record<'stdout' | 'stderr', { write(text: string): unknown }>>;

/** Runs the command. Resolves with the exit code. */
export async function runCommand(
  args: readonly string[],
  env: Environment,
  { stdout, stderr }: Streams = process,
): Promise<number> {
  try {
    const given = readArguments(args, env);
    const text = textFor(given);
    if (text !== undefined) stdout.write(text);
    if (text !== undefined) return 0;
    const settings = readSettings(given);
    return await (settings.reporter === ''
      ? runChecks(settings, stdout)
      : runSuite(settings, args, env));
  } catch (error) {
    stderr.write(`conformance: ${(error as Error).message}\n`);
    return 2;
  }
}

/** Returns what is printed instead of a run. */
function textFor(given: Given): string | undefined {
  if (given('help').length > 0) return HELP;
  if (given('version').length > 0) return `kit ${VERSION}, interface ${INTERFACE_VERSION}\n`;
  if (given('list').length === 0) return undefined;
  const checks = readChecks(given, 'http');
  return checks.map(({ id, sentence }) => `${id.padEnd(32)} ${sentence}\n`).join('');
}

const PROGRESS_MS = 2000;

async function runChecks(
  { checks, output, ...options }: Settings,
  stdout: Streams['stdout'],
): Promise<number> {
  // Before the run, since a file that cannot be written to is a mistake in the command.
  if (output !== '') writeFileSync(output, '');
  const run = await openRun(options);
  stdout.write(`${run.title}\n`);
  let printedAt = Date.now();
  for (const check of checks) {
    await run.outcomeOf(check);
    if (Date.now() - printedAt < PROGRESS_MS) continue;
    printedAt = Date.now();
    stdout.write(`  Checks done: ${run.outcomes.length}, last: ${check.id}\n`);
  }
  const report = reportOf(run.outcomes);
  stdout.write(report);
  if (output !== '') writeFileSync(output, `${run.title}\n${report}`);
  if (run.isGone) throw new Error('the service no longer responds');
  return run.outcomes.some(({ kind }) => kind === 'fail') ? 1 : 0;
}

/** The variable with the arguments of a command that runs the suite, as a JSON array. */
const ARGUMENTS = 'CONFORMANCE_ARGUMENTS';

/** Runs the suite in another process. It prints the report, too, if the reporter has a file. */
async function runSuite(
  { reporter, output }: Settings,
  args: readonly string[],
  env: Environment,
): Promise<number> {
  // `.js` if this file is compiled, else `.ts`.
  const suite = fileURLToPath(import.meta.url.replace(/command(\.[jt]s)$/, 'suite$1'));
  const options = [
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${output || 'stdout'}`,
  ];
  const suiteEnv = { ...env, [ARGUMENTS]: JSON.stringify(args) };
  const child = spawn(process.execPath, [...options, suite], { env: suiteEnv, stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  // Node has codes of its own, for example 7 for an unknown reporter.
  return code === 0 || code === 1 ? code : 2;
}

export interface Settings extends RunOptions {
  readonly checks: readonly Check[];
  /** How long to wait for a service that is starting. */
  readonly waitMs: number;
  /** A reporter of Node, or an empty text. */
  readonly reporter: string;
  /** A file for the output of the reporter, or for the report; or an empty text. */
  readonly output: string;
}

/** Reads the settings of the suite. Throws an Error if one is missing or invalid. */
export function readSuiteSettings(env: Environment): Settings {
  return readSettings(readArguments(JSON.parse(env[ARGUMENTS] ?? '[]') as string[], env));
}

/** Returns the values of an option. The base URL is the option `url`. */
type Given = (option: string) => readonly string[];

/** Throws an Error for an unknown option or a second base URL. */
function readArguments(args: readonly string[], env: Environment): Given {
  const options = OPTIONS.map(([name, argument]) => {
    return [name, { type: argument === '' ? 'boolean' : 'string', multiple: true }] as const;
  });
  const config = { args: [...args], allowPositionals: true, options: Object.fromEntries(options) };
  const { values, positionals } = parseArgs(config);
  if (positionals.length > 1) throw new Error(`One base URL only: ${positionals.join(' ')}`);
  return (option) => {
    const given = option === 'url' ? positionals : [values[option] ?? []].flat().map(String);
    return given.length > 0 ? given : linesOf(env[variableOf(option)]);
  };
}

/** Returns the variable that has an option's values, one per line, if no argument has any. */
function variableOf(option: string): string {
  const name = { key: 'api-key', header: 'headers' }[option] ?? option;
  return `CONFORMANCE_${name.replaceAll('-', '_').toUpperCase()}`;
}

/** Returns the lines that are not empty. */
function linesOf(text = ''): readonly string[] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

function readSettings(given: Given): Settings {
  const last = (option: string, otherwise = ''): string => given(option).at(-1) ?? otherwise;
  const [category, wait] = [last('category', '1'), last('wait', '0s')];
  const baseUrl = readBaseUrl(last('url'));
  const [key] = must(
    /^[!-~]+$/.exec(last('key')),
    'An API key is needed: --key, or CONFORMANCE_API_KEY',
  );
  const [, digits, unit] = must(
    /^([0-9]{1,4})(s|m)$/.exec(wait),
    `--wait must be a time such as 10s, not "${wait}"`,
  );
  return {
    baseUrl,
    key,
    checks: readChecks(given, given('only').length > 0 ? 'http' : 'interface'),
    headers: Object.fromEntries(given('header').map(readHeader)),
    categoryId: must(parseInt64(category), `--category must be an integer, not "${category}"`),
    expectedFailures: readExpectedFailures(last('expected-failures')),
    isStrict: given('strict').length > 0,
    waitMs: Number(digits) * (unit === 's' ? 1000 : 60_000),
    reporter: last('reporter'),
    output: last('output'),
  };
}

function must<T>(value: T | null | undefined, complaint: string): T {
  if (value === null || value === undefined) throw new Error(complaint);
  return value;
}

/** Returns the checks of --level and --only. */
function readChecks(given: Given, defaultLevel: string): readonly Check[] {
  const only = given('only');
  const unknown = only.find((name) => !CHECKS.some((check) => isOf(check)(name)));
  if (unknown !== undefined) throw new Error(`--only: there is no check ${unknown}, see --list`);
  const text = given('level').at(-1) ?? defaultLevel;
  const level = LEVELS.find((known) => known === text);
  const checks = checksOf(must(level, `--level is ${LEVELS.join(', ')}, not "${text}"`), only);
  must(checks[0], `--only ${only.join()} has no check at the level ${level}`);
  return checks;
}

/** Returns the base URL without a trailing slash. */
function readBaseUrl(text: string): string {
  if (text === '') throw new Error('A base URL is needed, such as https://host/v1');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(`The base URL must begin with http:// or https://, not "${text}"`);
  }
  const path = url.pathname.replace(/\/$/, '');
  if (!path.endsWith('/v1')) throw new Error(`The base URL must end in /v1, not "${text}"`);
  return `${url.origin}${path}`;
}

function readHeader(line: string): readonly [name: string, value: string] {
  const match = /^([!#$%&'*+.^`|~\w-]+):\s*(.*)$/.exec(line);
  const [, name = '', value = ''] = must(match, `--header must be 'Name: value', not "${line}"`);
  return [name, value];
}

/** Reads a file with one id per line and comments after #. */
function readExpectedFailures(path: string): readonly string[] {
  if (path === '') return [];
  const ids = linesOf(readFileSync(path, 'utf8').replace(/#.*/g, ''));
  const unknown = ids.find((id) => !CHECKS.some((check) => check.id === id));
  if (unknown !== undefined) throw new Error(`${path}: there is no check ${unknown}`);
  return ids;
}
