/**
 * The command `petstore conformance`: converts its arguments to the environment of the suite, and
 * runs the suite in a child process with the selected reporter.
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { VERSION } from '../base/version.ts';
import { LEVELS } from './check.ts';
import { checksOf, INTERFACE_VERSION } from './checks.ts';
import { checkIds, NAMES, readLevel, readSettings, type Environment } from './settings.ts';

export const HELP: string = `Checks a pet store service against the specification, sentence by sentence.

Usage: petstore conformance BASE_URL [options]

  BASE_URL                  the base URL, which ends in /v1: https://host/v1
  --key KEY                 an API key of the service; or ${NAMES.key}
  --level LEVEL             ${LEVELS.join(', ')}: each includes those before it
                            (interface by default, all with --only)
  --only ID                 one check, or all of a section: 4.1; can be repeated
  --list                    print the checks and run none
  --wait TIME               wait for a service that is starting: 10s, 2m
  --header 'Name: value'    add a header field to each request; can be repeated
  --category ID             a category id that the service accepts (1)
  --expected-failures FILE  ids of checks that are known to fail, one per line, # comments
  --strict                  require the decisions of this project, too
  --reporter NAME           one of Node's (spec, tap, junit, dot) instead of the report
  --output FILE             write that reporter's output to FILE, and print the report, too
  --version, --help

The checks add a few hundred pets, most of whose names begin with Conformance, and remove none.
For a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.

Exit code: 0 if all required checks pass, 1 if one fails, 2 if nothing was checked (wrong usage, a
key that is not accepted, no service at the address), or if the service stopped responding, so that
the result is incomplete.
`;

const OPTIONS = {
  key: { type: 'string' },
  level: { type: 'string' },
  only: { type: 'string', multiple: true },
  list: { type: 'boolean' },
  header: { type: 'string', multiple: true },
  category: { type: 'string' },
  'expected-failures': { type: 'string' },
  strict: { type: 'boolean' },
  wait: { type: 'string' },
  reporter: { type: 'string' },
  output: { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof parse>['values'];

/** Runs the command. Resolves with the exit code. */
export async function runCommand(args: readonly string[], env: Environment): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const text = textFor(values);
    if (text !== undefined) {
      process.stdout.write(text);
      return 0;
    }
    if (positionals.length > 1) throw new Error(`One base URL only: ${positionals.join(' ')}`);
    const settings = { ...env, ...settingsOf(values, positionals[0]) };
    readSettings(settings);
    return await runSuite(values, settings);
  } catch (error) {
    process.stderr.write(`conformance: ${(error as Error).message}\n`);
    return 2;
  }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
}

/** What is printed instead of a run. */
function textFor({ help, version, list, level, only }: Values): string | undefined {
  if (help === true) return HELP;
  if (version === true) return `kit ${VERSION}, interface ${INTERFACE_VERSION}\n`;
  if (list !== true) return undefined;
  checkIds(only ?? [], '--only');
  const checks = checksOf(readLevel(level ?? 'http'), only);
  return checks.map((check) => `${check.id.padEnd(32)} ${check.sentence}\n`).join('');
}

/** Returns the variables for the given options. The environment keeps the others. */
function settingsOf(values: Values, url: string | undefined): Record<string, string> {
  const given: Record<string, unknown> = { ...values, url };
  const settings: Record<string, string> = {};
  for (const [option, variable] of Object.entries(NAMES)) {
    const value = given[option];
    if (value !== undefined) settings[variable] = [value].flat().join('\n');
  }
  return settings;
}

/** Returns Node's options for the reporters. With --output the kit's report is printed, too. */
function reporterArguments({ reporter, output }: Values): readonly string[] {
  const own = pathOf('report');
  const reporters: [name: string, destination: string][] = [];
  if (reporter === undefined || output !== undefined) reporters.push([own, 'stdout']);
  if (reporter !== undefined) reporters.push([reporter, output ?? 'stdout']);
  else if (output !== undefined) reporters.push([own, output]);
  return reporters.flatMap(([name, destination]) => [
    `--test-reporter=${name}`,
    `--test-reporter-destination=${destination}`,
  ]);
}

/** Returns the location of a module of this folder: `.js` if this one is compiled, else `.ts`. */
function pathOf(name: string): string {
  const file = import.meta.url.replace(/command(\.[jt]s)$/, `${name}$1`);
  return name === 'report' ? file : fileURLToPath(file);
}

function runSuite(values: Values, settings: Environment): Promise<number> {
  const args = [...reporterArguments(values), pathOf('suite')];
  const child = spawn(process.execPath, args, { env: { ...settings }, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    // Node has codes of its own, for example 7 for an unknown reporter.
    child.on('close', (code) => resolve(code === 0 || code === 1 ? code : 2));
  });
}
