/** Checks any pet store service against the API specification (kit/README.md). */

import type { FlagKind } from '../base/command-line.ts';
import { HELP, runCommand } from '../kit/command.ts';
import type { Command } from './command.ts';

const FLAGS: Readonly<Record<string, FlagKind>> = {
  key: 'text',
  level: 'text',
  only: 'texts',
  list: 'plain',
  wait: 'text',
  header: 'texts',
  category: 'text',
  'expected-failures': 'text',
  strict: 'plain',
  reporter: 'text',
  output: 'text',
  version: 'plain',
};

export const conformance: Command = {
  usage: HELP,
  flags: FLAGS,
  operands: 1,
  read({ flags, operands }, { env }) {
    const args = [...flags].flatMap(([name, value]) =>
      FLAGS[name] === 'plain' ? `--${name}` : value.split('\n').map((text) => `--${name}=${text}`),
    );
    return () => runCommand([...args, ...operands], env);
  },
};
