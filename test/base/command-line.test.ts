/** Command lines: how each kind of flag is read, for the service and for each command. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCommandLine, type Syntax } from '../../src/base/command-line.ts';

const SYNTAX: Syntax = {
  flags: { name: 'text', only: 'texts', memory: 'switch', list: 'plain', prefix: '--etcd-prefix' },
  operands: 2,
};

/** Arguments, and the flags, operands and mistakes in them. */
const LINES: readonly (readonly [string, object, readonly string[], readonly string[]])[] = [
  ['', {}, [], []],
  ['a --name=b c', { name: 'b' }, ['a', 'c'], []],
  ['a b c', {}, ['a', 'b'], ['Unexpected argument 3: see --help']],
  ['--name -b', { name: '-b' }, [], []],
  ['--only a --only=b --only c', { only: 'a\nb\nc' }, [], []],
  ['--memory a', { memory: 'on' }, ['a'], []],
  ['--memory off --list', { memory: 'off', list: '' }, [], []],
  ...['true', 'false', 'yes', 'NO', '0', '1'].map(
    (value) => [`--memory ${value}`, { memory: value }, [], []] as const,
  ),
  ['-h', { help: '' }, [], []],
  ['--list=1', {}, [], ['--list takes no value']],
  ['--name a --name b', { name: 'a' }, [], ['--name is given twice']],
  ['--prefix x a', {}, ['a'], ['Unknown option --prefix: write --etcd-prefix']],
  ['--constructor', {}, [], ['Unknown option --constructor: see --help']],
  ['--', {}, [], []],
  ['-- --list', {}, ['--list'], []],
];

for (const [text, flags, operands, mistakes] of LINES) {
  test(`"${text}" has ${JSON.stringify([flags, operands, mistakes])}`, () => {
    const args = text.split(' ').filter((arg) => arg !== '');
    const line = readCommandLine(args, SYNTAX);
    assert.deepEqual(Object.fromEntries(line.flags), flags);
    assert.deepEqual([line.operands, line.mistakes], [operands, mistakes]);
  });
}
