/** The command line: help, version, and the commands next to serving. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { apiKeyProblem } from '../../src/api-keys/api-key.ts';
import { VERSION } from '../../src/base/version.ts';
import { COMMANDS } from '../../src/commands/commands.ts';
import { HELP } from '../../src/commands/help.ts';
import { runScript, startFor } from '../support/process/process.ts';
import { tempDir } from '../support/disk/temp-dir.ts';

const NO_FILE = /^There is no data file .*data\/pets\.json\n$/;
const NOT_CONFIGURED = /^petstore: as configured, the service has no data file: /;

/** Arguments, environment, exit code, and all of the one stream that is not empty. */
const CALLS: readonly (readonly [string, Record<string, string>, number, string | RegExp])[] = [
  ['--help', { PORT: 'a mistake' }, 0, HELP],
  ['help no-such-command', {}, 0, HELP],
  ['--version', {}, 0, `${VERSION}\n`],
  ...Object.keys(COMMANDS).map(
    (name) => [`help ${name}`, {}, 0, new RegExp(`^Usage: petstore ${name}\\b`, 'm')] as const,
  ),
  ['make-key x y', {}, 2, /^Usage: petstore make-key \[NAME\]\n$/],
  ['make-key --what', {}, 2, /^Usage: petstore make-key \[NAME\]\n$/],
  ['make-key sha256', {}, 2, /^Usage: petstore make-key \[NAME\]\na name must not be sha256\n$/],
  ['check-data -h', {}, 0, /^Usage: petstore check-data \[file\]\n/],
  ['check-data none.json', {}, 1, /^There is no data file .*none\.json\n$/],
  ['check-data', {}, 1, NO_FILE],
  ['check-data', { PETSTORE_DATA_FILE: '' }, 1, NO_FILE],
  ['check-data', { PETSTORE_DATA_FILE: 'mine.json', PETSTORE_MEMORY: 'on' }, 0, /^mine\.json: 0 /],
  ['check-data', { PETSTORE_MEMORY: 'on' }, 2, NOT_CONFIGURED],
  ['check-data', { PETSTORE_ETCD: 'http://e:1' }, 2, NOT_CONFIGURED],
  ['init-etcd', {}, 2, 'petstore: PETSTORE_ETCD or --etcd must name the endpoints\n'],
  ['init-etcd', { PETSTORE_ETCD: 'e:1' }, 2, /^petstore: PETSTORE_ETCD must be URLs/],
  // It does not check the settings of the service that are not for etcd.
  ['init-etcd --help', { PETSTORE_API_KEYS_FILE: '/nowhere', PORT: 'x' }, 0, /petstore init-etcd/],
  ['copy-pets --from a --to b', {}, 2, /^petstore: Expected --from and --to-etcd/],
  ['copy-pets --what', {}, 2, /--what/],
  ['copy-pets --from a --to-etcd e:1', {}, 2, /endpoints must be URLs/],
  ['copy-pets --help', {}, 0, /^Usage: petstore copy-pets/],
];

for (const [args, env, code, output] of CALLS) {
  test(`petstore ${args} with ${JSON.stringify(env)} exits with ${code}`, async (t) => {
    const cwd = tempDir(t);
    mkdirSync(join(cwd, 'data'));
    writeFileSync(join(cwd, 'mine.json'), '[]');
    const program = startFor(t, args.split(' '), { cwd, env });
    assert.equal(await program.exit(), code);
    const [shown, other] = [program.stdout(), program.stderr()];
    const [text, empty] = code === 0 ? [shown, other] : [other, shown];
    if (typeof output === 'string') assert.equal(text, output);
    else assert.match(text, output);
    assert.equal(empty, '');
  });
}

test('make-key prints another API key each time, and its line, with a name if one is given', async () => {
  const keys: string[] = [];
  for (const args of [[], ['shop-2026']]) {
    const { stdout } = await runScript('start.mjs', ['make-key', ...args]);
    const [, key = '', name, digest] =
      /^# .*\n(\S{32,})\n# .*\n(.*)sha256:(.*)\n$/.exec(stdout) ?? [];
    assert.equal(name, args.map((arg) => `${arg}: `).join());
    assert.equal(digest, createHash('sha256').update(key).digest('hex'));
    assert.equal(apiKeyProblem(key), undefined);
    keys.push(key);
  }
  assert.notEqual(keys[0], keys[1]);
});
