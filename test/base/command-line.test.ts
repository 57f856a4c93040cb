/** Command lines: how each kind of flag is read, for the service and for each command. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCommandLine, type Syntax } from '../../src/process/command-line.ts';

/** A command that takes two arguments. */
const COMMAND: Syntax = {
  flags: {
    ...{ name: 'text', only: 'texts', memory: 'switch', list: 'plain' },
    ...{ from: 'text', 'etcd-prefix': 'text' },
  },
  operands: 2,
};

/** The service, which takes none: the first one may be a mistyped command. */
const SERVICE: Syntax = {
  flags: { port: 'text', 'body-limit': 'text', memory: 'switch' },
  words: ['make-key', 'init-etcd'],
};

const ONCE = '--name is given twice';
const NO_COMMAND = 'Argument 1 is neither an option nor a command';
const IN_2 = 'Unknown option in argument 2: see --help';

type Row = readonly [string, object, readonly string[], readonly string[]];

/** Arguments, and the flags, operands and mistakes in them. */
const COMMAND_LINES: readonly Row[] = [
  ['', {}, [], []],
  ['a --name=b c', { name: 'b' }, ['a', 'c'], []],
  ['a b c', {}, ['a', 'b'], ['Unexpected argument 3: see --help']],
  ['--name -b', { name: '-b' }, [], []],
  ['--only a --only=b --only c', { only: 'a\nb\nc' }, [], []],
  ['--memory a', { memory: 'on' }, ['a'], []],
  ['--memory off --list', { memory: 'off', list: '' }, [], []],
  ...['true', 'false', 'yes', 'NO', '0', '1'].map((value): Row => [
    `--memory ${value}`,
    { memory: value },
    [],
    [],
  ]),
  ['-h', { help: '' }, [], []],
  ['--list=1', {}, [], ['--list takes no value']],
  ['--name a --name b', { name: 'a' }, [], [ONCE]],
  ['--name a --name', { name: 'a' }, [], ['--name needs a value']],
  ['--name=', { name: '' }, [], ['--name needs a value']],
  ['--name --list', { name: '', list: '' }, [], ['--name needs a value']],
  ['--prefix x a', {}, ['a'], ['Unknown option --prefix: did you mean --etcd-prefix?']],
  ['--constructor', {}, [], ['Unknown option --constructor: see --help']],
  ['-- --list', {}, ['--list'], []],
];

/** Arguments of the service, and the mistakes in them. None quotes what may be an API key. */
const SERVICE_LINES: readonly (readonly [string, ...string[]])[] = [
  ['--what', 'Unknown option --what: see --help'],
  ['-kSECRET', 'Unknown option in argument 1: see --help'],
  ['-p 8080', 'Unknown option -p: see --help'],
  ['--api-key SECRET', 'Unknown option --api-key: see --help'],
  ['--api-key=--SECRET', 'Unknown option --api-key: see --help'],
  ['--api-key --SECRET', 'Unknown option --api-key: see --help', IN_2],
  ['--memory SECRET', 'Unexpected argument 2: see --help'],
  ['--body 9', 'Unknown option --body: did you mean --body-limit?'],
  ['--=x', 'Unknown option in argument 1: see --help'],
  ['--prot 8080', 'Unknown option --prot: did you mean --port?'],
  ['--bodylimit 9', 'Unknown option --bodylimit: did you mean --body-limit?'],
  ['make-kee', `${NO_COMMAND}: did you mean make-key?`],
  ['make-secrets', `${NO_COMMAND}: see --help`],
  ['--port 1 make-key', 'Unexpected argument 3: see --help'],
  ['-- --port', 'Unexpected argument 2: see --help'],
];

function read(text: string, syntax: Syntax): ReturnType<typeof readCommandLine> {
  const args = text.split(' ').filter((arg) => arg !== '');
  return readCommandLine(args, syntax);
}

for (const [text, flags, operands, mistakes] of COMMAND_LINES) {
  test(`"${text}" has ${JSON.stringify([flags, operands, mistakes])}`, () => {
    const line = read(text, COMMAND);
    assert.deepEqual(Object.fromEntries(line.flags), flags);
    assert.deepEqual([line.operands, line.mistakes], [operands, mistakes]);
  });
}

for (const [text, ...mistakes] of SERVICE_LINES) {
  test(`"${text}" is a mistake: ${mistakes.join(', ')}`, () => {
    assert.deepEqual(read(text, SERVICE).mistakes, mistakes);
  });
}
