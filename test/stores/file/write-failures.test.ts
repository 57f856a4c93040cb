/** What clients see of a failed write: its cause, but no path. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientMessage } from '../../../src/stores/file/write-failures.ts';
import { systemError } from '../../support/disk/memory-disk.ts';
import { JOURNAL } from '../../support/disk/store-scene.ts';

for (const [what, error, message] of [
  ['no path of a system error', systemError('EIO', JOURNAL), 'EIO: simulated'],
  [
    'no system call of a system error',
    Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' }),
    'EIO: i/o error',
  ],
  ['no path of any other error', new Error(`${JOURNAL} is not a file`), 'the log shows the cause'],
  [
    'no path of a Windows disk',
    new Error('C:\\pets.json is not a file'),
    'the log shows the cause',
  ],
  [
    'all of an error of the store',
    Object.assign(new Error('ENOSPC: no room: 5, 2 are free'), { code: 'ENOSPC' }),
    'ENOSPC: no room: 5, 2 are free',
  ],
  ['all of a text without a path', 'no i/o, but a, b', 'no i/o, but a, b'],
] as const) {
  test(`Clients get ${what}`, () => {
    assert.equal(clientMessage(error), message);
  });
}
