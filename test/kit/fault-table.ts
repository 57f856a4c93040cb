/** The checks against the wrong services, and the table that comes of it. */

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { checksOf } from '../../src/kit/checks.ts';
import { runCheck, type Outcome } from '../../src/kit/run-check.ts';
import { FAULTS, type Fault } from './faults.ts';
import { createPlainServer } from './plain-service.ts';

export interface Finding extends Fault {
  /** The checks that fail. */
  readonly ids: readonly string[];
}

/** What comes of each check of the interface; the server is started, and stopped. */
export async function outcomesOf(
  server: Server,
  key: string,
): Promise<readonly (readonly [id: string, Outcome])[]> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const target = { baseUrl: `http://127.0.0.1:${port}/v1`, key };
  const outcomes: [string, Outcome][] = [];
  for (const check of checksOf('interface'))
    outcomes.push([check.id, await runCheck(check, target)]);
  server.close();
  server.closeAllConnections();
  return outcomes;
}

export async function findings(): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (let start = 0; start < FAULTS.length; start += AT_ONCE) {
    found.push(...(await Promise.all(FAULTS.slice(start, start + AT_ONCE).map(findingOf))));
  }
  return found;
}

async function findingOf(fault: Fault): Promise<Finding> {
  const outcomes = await outcomesOf(createPlainServer(KEY, fault.rules), KEY);
  return { ...fault, ids: outcomes.filter(([, { kind }]) => kind === 'fails').map(([id]) => id) };
}

const AT_ONCE = 8;
const KEY = 'key-of-a-wrong-service';

/** In Markdown, a row for each fault. */
export function faultTable(found: readonly Finding[]): string {
  const rows = found.map(({ what, foundBy, ids }) => {
    const isFound = ids.includes(foundBy);
    return `| ${what} | ${isFound ? `\`${foundBy}\`` : 'NOT FOUND'} | ${ids.length - (isFound ? 1 : 0)} |`;
  });
  return ['| Planted fault | Found by | and by others |', '|---|---|---|', ...rows, ''].join('\n');
}
