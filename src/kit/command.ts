/**
 * The command `petstore conformance`: runs the checks, and prints the report or what one of Node's
 * reporters makes of it. Each option is also a variable of the environment.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import type { Command, CommandLine, Context, Environment, FlagKind } from '../base/command-line.ts';
import { parseInt64 } from '../base/int64.ts';
import { messageOf } from '../base/log.ts';
import { mustBe, problemTexts } from '../base/problem.ts';
import { VERSION } from '../base/version.ts';
import { INTERFACE_VERSION, LEVELS } from './check.ts';
import { CHECKS, checksOf } from './checks.ts';
import { testConformance } from './conformance.ts';
import { nodeReportOf, reportOf, REPORTERS, titleOf } from './report.ts';
import { awaitService, Run, type Outcome } from './run.ts';

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
  ['reporter', 'NAME', `one of Node's (${REPORTERS.join(', ')}) instead of the report`],
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
  read(line, context) {
    const settings = readSettings(line, context.env);
    return () => {
      return runChecks(settings, context).catch((error: unknown) => {
        context.printError(messageOf(error));
        return 2;
      });
    };
  },
};

async function runChecks(settings: Settings, context: Context): Promise<number> {
  const { level, only, reporter, output, baseUrl } = settings;
  const checks = checksOf(level, only);
  if (settings.isList) {
    context.print(checks.map(({ id, sentence }) => `${id.padEnd(32)} ${sentence}\n`).join(''));
    return 0;
  }
  // Before the run, since a file that cannot be written to is a mistake in the command.
  if (output !== '') writeFileSync(output, '');
  await awaitService(settings, settings.waitMs);
  const run = new Run(settings);
  const outcomes: Outcome[] = [];
  for (const check of checks) {
    outcomes.push(await run.outcomeOf(check));
    context.showProgress(`${outcomes.length} of ${checks.length} checks, last ${check.id} `);
  }
  const title = titleOf(baseUrl);
  const report = `${title}\n${reportOf(outcomes)}`;
  const text = reporter === '' ? report : await nodeReportOf(title, outcomes, reporter);
  if (output !== '') writeFileSync(output, text);
  context.print(output === '' ? text : report);
  if (run.isGone) throw new Error('the service no longer responds');
  return outcomes.some(({ kind }) => kind === 'fail') ? 1 : 0;
}

/** Declares the checks as tests of node:test, with options of the environment only. */
export async function declareSuite(env: Environment): Promise<void> {
  const mistakes: string[] = [];
  const settings = readSettings({ flags: new Map(), operands: [], mistakes }, env);
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  await awaitService(settings, settings.waitMs);
  testConformance(settings);
}

type Settings = ReturnType<typeof readSettings>;

/**
 * Reads all settings, and adds what is wrong with them to the mistakes of the line. A mistake has
 * the name that the user typed. For a list of the checks no service is needed.
 */
function readSettings({ flags, operands: [url], mistakes }: CommandLine, env: Environment) {
  /** `parse` returns undefined for a mistake, or throws. An option that is not given is ''. */
  function read<T>(option: string, expected: string, parse: (text: string) => T | undefined): T {
    const [flag, variable] = [option === 'url' ? 'BASE_URL' : `--${option}`, variableOf(option)];
    const given = option === 'url' ? url : flags.get(option);
    const text = given ?? env[variable] ?? '';
    const name = given !== undefined ? flag : text !== '' ? variable : `${flag} or ${variable}`;
    try {
      const value = parse(text.trim());
      if (value !== undefined) return value;
      const shown = SECRETS.includes(option) || text === '' ? undefined : text;
      mistakes.push(...problemTexts([mustBe(name, expected, shown)]));
    } catch (error) {
      mistakes.push(`${name}: ${messageOf(error)}`);
    }
    // A setting is not used after a mistake.
    return undefined as T;
  }
  const textOf = (option: string): string => read(option, '', (text) => text);
  const isList = flags.has('list');
  const only = linesOf(textOf('only'));
  const defaultLevel = isList || only.length > 0 ? 'http' : 'interface';
  const level = read('level', LEVELS.join(', '), (text) =>
    LEVELS.find((name) => name === (text || defaultLevel)),
  );
  const unknown = only.filter((name) => checksOf(level ?? 'http', [name]).length === 0);
  const mistake = `has no check at the level ${level}: see --list`;
  mistakes.push(...unknown.map((name) => `--only ${name} ${mistake}`));
  const urlExpected = 'a URL such as https://host/v1, which ends in /v1';
  return {
    isList,
    /** How long to wait for a service that is starting. */
    waitMs: read('wait', 'a time such as 10s or 2m', millisecondsOf),
    /** Empty for the report of the kit. */
    reporter: read('reporter', REPORTERS.join(', '), (text) =>
      ['' as const, ...REPORTERS].find((name) => name === text),
    ),
    /** A file for the output of the reporter, or for the report; or an empty text. */
    output: textOf('output'),
    level,
    only,
    baseUrl: isList ? '' : read('url', urlExpected, baseUrlOf),
    key: isList ? '' : read('key', 'an API key', (text) => /^[!-~]+$/.exec(text)?.[0]),
    headers: read('header', "'Name: value'", headersOf),
    categoryId: read('category', 'an integer of 64 bits', (text) => parseInt64(text || '1')),
    expectedFailures: read('expected-failures', 'a file', readExpectedFailures),
    isStrict: flags.has('strict') || textOf('strict') !== '',
  };
}

/** A field may have the key of a gateway. */
const SECRETS = ['key', 'header'];

function variableOf(option: string): string {
  const words = { key: 'api-key', header: 'headers' }[option] ?? option;
  return `CONFORMANCE_${words.replaceAll('-', '_').toUpperCase()}`;
}

/** Returns the lines that are not empty. */
function linesOf(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}

/** Returns the base URL without a trailing slash. */
function baseUrlOf(text: string): string | undefined {
  const { protocol, origin, pathname } = new URL(URL.canParse(text) ? text : 'none:');
  const path = pathname.replace(/\/$/, '');
  return /^https?:$/.test(protocol) && path.endsWith('/v1') ? origin + path : undefined;
}

function millisecondsOf(text: string): number | undefined {
  const [, digits, unit] = /^([0-9]{1,4})(s|m)$/.exec(text || '0s') ?? [];
  return unit === undefined ? undefined : Number(digits) * (unit === 's' ? 1000 : 60_000);
}

function headersOf(text: string): Record<string, string> | undefined {
  const fields = linesOf(text).map((line) => /^([!#$%&'*+.^`|~\w-]+):\s*(.*)$/.exec(line));
  if (fields.includes(null)) return undefined;
  return Object.fromEntries(fields.map((field) => [field![1]!, field![2]!]));
}

/** Reads a file with one id per line and comments after #. */
function readExpectedFailures(path: string): readonly string[] {
  const ids = path === '' ? [] : linesOf(readFileSync(path, 'utf8').replace(/#.*/g, ''));
  const unknown = ids.filter((id) => !CHECKS.some((check) => check.id === id));
  if (unknown.length > 0) throw new Error(`${path}: there is no check ${unknown.join()}`);
  return ids;
}
