/** The command: arguments to a run, a run to a report and an exit code. */

import { parseArgs } from 'node:util';
import { checksOf, isPart, type Selection } from './all-checks.ts';
import { PARTS } from './check.ts';
import type { Target } from './client.ts';
import { createReport } from './report.ts';
import { obstacleTo, runChecks } from './run-checks.ts';

export const HELP = `Checks a pet store service against the interface, sentence by sentence.

Usage: npm run conformance -- BASE_URL --key KEY [options]

  BASE_URL           the base address, which ends in /v1: https://host/v1
  --key KEY          an API key of the service
  --only KIND        interface: what the interface demands;
                     decision: what this project decided where the interface is silent
  --part PART        one part: ${PARTS.map(([part]) => part).join(', ')}
  --category ID      a category that the service knows, where it knows any (default 1)
  --strict           decisions that differ count as failures, too
  --help             this text

It adds some hundreds of pets, whose names tell where they come from, and removes none. For a
certificate of your own, set NODE_EXTRA_CA_CERTS to its file.

Exit code: 0 when all that the interface demands holds, 1 when not, 2 when nothing was checked.`;

export const EXIT = { holds: 0, fails: 1, unchecked: 2 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

interface Wanted extends Selection {
  readonly target: Target;
  readonly isStrict: boolean;
}

/** Runs what the arguments say; the report goes out line by line, a complaint apart from it. */
export async function runCommand(
  args: readonly string[],
  print: (line: string) => void,
  complain: (line: string) => void,
): Promise<ExitCode> {
  if (args.includes('--help')) {
    print(HELP);
    return EXIT.holds;
  }
  try {
    const wanted = readArguments(args);
    const obstacle = await obstacleTo(wanted.target);
    if (obstacle !== undefined) throw new Error(obstacle);
    return await printReport(wanted, print);
  } catch (error) {
    complain((error as Error).message);
    return EXIT.unchecked;
  }
}

async function printReport(wanted: Wanted, print: (line: string) => void): Promise<ExitCode> {
  const { target, isStrict } = wanted;
  const report = createReport(target.key);
  print(`Conformance of ${target.baseUrl}`);
  for await (const result of runChecks(checksOf(wanted), target)) {
    for (const line of report.linesOf(result)) print(line);
  }
  print(`\n${report.summary()}`);
  return report.isPassed(isStrict) ? EXIT.holds : EXIT.fails;
}

/** Throws an Error with the complaint. */
function readArguments(args: readonly string[]): Wanted {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      key: { type: 'string' },
      only: { type: 'string' },
      part: { type: 'string' },
      category: { type: 'string', default: '1' },
      strict: { type: 'boolean', default: false },
    },
  });
  const { key, only, part, category, strict } = values;
  const [url, ...others] = positionals;
  if (url === undefined || others.length > 0) throw new Error('One base address is needed: --help');
  if (key === undefined || key === '') throw new Error('An API key is needed: --key KEY');
  if (only !== undefined && only !== 'interface' && only !== 'decision') {
    throw new Error(`--only is interface or decision, not "${only}"`);
  }
  if (part !== undefined && !isPart(part)) throw new Error(`There is no part "${part}": --help`);
  const categoryId = Number(category);
  if (!Number.isSafeInteger(categoryId)) throw new Error(`No category id: "${category}"`);
  return { target: { baseUrl: readBaseUrl(url), key, categoryId }, only, part, isStrict: strict };
}

/** Without a slash at its end. */
function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(`The base address must be an http or https URL, not "${text}"`);
  }
  const path = url.pathname.replace(/\/$/, '');
  if (!path.endsWith('/v1')) throw new Error(`The base address must end in /v1, not "${text}"`);
  return `${url.origin}${path}`;
}
