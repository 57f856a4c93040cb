/**
 * The command `petstore conformance`: runs the checks, and prints the report, or the XML of JUnit.
 * Each option with a value is also a variable of the environment.
 */

import { appendFileSync, writeFileSync } from 'node:fs';
import { parseInt64 } from '../core/base/int64.ts';
import { mustBe } from '../core/base/option-error.ts';
import { LEVELS, VERSIONS } from '../extras/kit/check.ts';
import { CHECKS, checksOf, isName } from '../extras/kit/checks.ts';
import { junitOf, reportOf } from '../extras/kit/report.ts';
import { awaitService, Run, type Outcome } from '../extras/kit/run.ts';
import type { Command, CommandLine, Context, Environment, FlagKind } from './command-line.ts';
import { edits, nearest } from './nearest.ts';

const HELP = `Checks a pet store service against the specification, clause by clause.

Usage: petstore conformance BASE_URL [options]

  BASE_URL                  the base URL, which ends in /v1: https://host/v1
  --key KEY                 an API key of the service; or CONFORMANCE_API_KEY
  --level LEVEL             ${LEVELS.join(', ')}: each includes those before it (interface)
  --only ID                 one check of any level, or all of a section: 4.1; can be repeated
  --list                    print the checks and run none
  --wait TIME               wait for a service that is starting: 10s, 2m
  --timeout TIME            the time limit of each request (1m)
  --header 'Name: value'    add a header field to each request; can be repeated
  --category ID             a category id that the service accepts (1)
  --expected-failures ID    a check that is known to fail; can be repeated
  --strict [on|off]         require the decisions of this project, too (off)
  --reporter NAME           junit: print the XML of JUnit instead of the report
  --output FILE             write the XML, or the report, to FILE, and print the report
  --version                 print the versions of the kit and of the specification
  --help                    print this help

The checks add a few hundred pets, most of whose names begin with Conformance, and remove none.
For a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.

Exit code: 0 if all required checks pass, 1 if one fails, 2 if nothing was checked (wrong usage, a
key that is not accepted, no service at the address), or if the service stopped responding, so that
the result is incomplete.
`;

/** A flag that takes one text refuses the second one as a part of it. */
const FLAGS: Readonly<Record<string, FlagKind>> = {
  key: 'texts',
  level: 'texts',
  only: 'texts',
  list: 'plain',
  wait: 'texts',
  timeout: 'texts',
  header: 'texts',
  category: 'texts',
  'expected-failures': 'texts',
  strict: 'switch',
  reporter: 'texts',
  output: 'texts',
  version: 'plain',
};

export const conformance: Command = {
  usage: HELP,
  version: `kit ${VERSIONS}\n`,
  flags: FLAGS,
  operands: 1,
  errorCode: 2,
  read(line, context) {
    const settings = readSettings(line, context.env);
    if (line.flags.has('list')) return async () => context.print(listOf(settings));
    return () => runChecks(settings, context);
  },
};

function listOf({ level = 'http', only }: Settings): string {
  const checks = checksOf(level, only);
  const lines = checks.map(({ id, sentence, clauses }) => {
    return `${id.padEnd(32)} ${sentence}${clauses && ` (${clauses})`}\n`;
  });
  return lines.join('');
}

async function runChecks(settings: Settings, context: Context): Promise<number> {
  const { waitMs, reporter, output, ...options } = settings;
  // Before the run, since a file that cannot be written to is a mistake in the command.
  if (output !== undefined) appendFileSync(output, '');
  await awaitService(options, waitMs);
  const run = new Run(options);
  const outcomes: Outcome[] = [];
  for (const check of run.checks) {
    outcomes.push(await run.outcomeOf(check));
    context.showProgress(`${outcomes.length} of ${run.checks.length} checks, last ${check.id} `);
  }
  const report = reportOf(run.title, outcomes);
  const text = reporter === undefined ? report : await junitOf(run.title, outcomes);
  if (output !== undefined) writeFileSync(output, text);
  context.print(output === undefined ? text : report);
  if (run.isGone) throw new Error('the service no longer responds');
  return outcomes.some(({ kind }) => kind === 'fail') ? 1 : 0;
}

type Settings = ReturnType<typeof readSettings>;

/** Returns what a text means, or undefined if it is wrong. */
type Parse<T> = (text: string) => T | undefined;

/**
 * Reads all settings, and adds what is wrong with them to the mistakes of the line. A mistake has
 * the name that the user typed. For a list of the checks no service is needed.
 */
function readSettings({ flags, operands: [url], mistakes }: CommandLine, env: Environment) {
  const required = flags.has('list') ? [] : ['BASE_URL', '--key'];
  /** Returns undefined for no text and for a mistake. `word` ends the name of the variable. */
  function read<T>(flag: string, word: string, expected: string, parse: Parse<T>): T | undefined {
    const variable = `CONFORMANCE_${word}`;
    const given = flag === 'BASE_URL' ? url || undefined : flags.get(flag.slice(2));
    const text = (given ?? env[variable] ?? '').trim();
    // It is known by now that a flag without a value is a mistake.
    if (text === '' && (given === '' || !required.includes(flag))) return undefined;
    const value = parse(text);
    if (value !== undefined) return value;
    const name = given !== undefined ? flag : text !== '' ? variable : `${flag} or ${variable}`;
    // A text that is not a URL may be the key, and a field may have the key of a gateway.
    const isShown = flag === 'BASE_URL' ? /:\/\/|\/v/.test(text) : !/key|header/.test(flag);
    const wrong = text.split('\n').find((line) => parse(line) === undefined) ?? text;
    const hint = parse === namesIn ? nearId(wrong) : '';
    mistakes.push(`${name} ${mustBe(name, expected, isShown ? wrong : undefined).sentence}${hint}`);
    return undefined;
  }
  return {
    level: read('--level', 'LEVEL', LEVELS.join(', '), oneOf(LEVELS)),
    baseUrl: read('BASE_URL', 'URL', 'a URL such as https://host/v1, which ends in /v1', urlOf)!,
    key: read('--key', 'API_KEY', 'an API key', (text) => /^[!-~]+$/.exec(text)?.[0])!,
    only: read('--only', 'ONLY', 'ids of --list', namesIn),
    headers: read('--header', 'HEADERS', "'Name: value'", headersOf),
    categoryId: read('--category', 'CATEGORY', 'an integer of 64 bits', parseInt64),
    expectedFailures: read('--expected-failures', 'EXPECTED_FAILURES', 'ids of --list', namesIn),
    isStrict: read('--strict', 'STRICT', 'on or off', oneOf(['on', 'off'])) === 'on',
    /** How long to wait for a service that is starting. */
    waitMs: read('--wait', 'WAIT', 'a time such as 10s or 2m', millisecondsOf),
    timeoutMs: read('--timeout', 'TIMEOUT', 'a time such as 10s or 2m', limitOf),
    /** Without one it is the report of the kit. */
    reporter: read('--reporter', 'REPORTER', 'junit', oneOf(['junit'])),
    /** A file for what the reporter writes, or for the report. */
    output: read('--output', 'OUTPUT', 'one path', (text) => /^.+$/.exec(text)?.[0]),
  };
}

function oneOf<T extends string>(names: readonly T[]): Parse<T> {
  return (text) => names.find((name) => name === text);
}

/** Returns the names of checks, without comments. */
function namesIn(text: string): readonly string[] | undefined {
  const names = text.replace(/#.*/g, '').match(/\S+/g) ?? [];
  return names.every(isName) ? names : undefined;
}

/** Returns a hint at the id that was probably meant, with or without its section. */
function nearId(text: string): string {
  const [name = ''] = text.split(/\s/).filter((word) => !isName(word));
  const ids = new Map(
    CHECKS.flatMap(({ id }) => [id, id.replace(/.*\//, '')].map((one) => [one, id])),
  );
  const best = nearest(name, [...ids.keys()]);
  return edits(name, best) <= 2 ? `: did you mean ${ids.get(best)}?` : '';
}

/** Returns the base URL without a trailing slash. */
function urlOf(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  return /^(https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?\/v1)\/?$/i.exec(text)?.[1];
}

function millisecondsOf(text: string): number | undefined {
  const [, digits, unit] = /^([0-9]{1,4})(s|m)$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(digits) * (unit === 's' ? 1000 : 60_000);
}

/** A time of zero is no limit. */
function limitOf(text: string): number | undefined {
  return millisecondsOf(text) || undefined;
}

function headersOf(text: string): Record<string, string> | undefined {
  const fields = text.split('\n').map((line) => /^([!#$%&'*+.^`|~\w-]+):\s*([\t -ÿ]*)$/.exec(line));
  if (fields.includes(null)) return undefined;
  return Object.fromEntries(fields.map((field) => [field![1]!, field![2]!]));
}
