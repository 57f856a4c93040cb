/** Prints a new API key for the client, and the line with its digest for the API keys file. */

import crypto from 'node:crypto';
import { createApiKey, keyNameProblem } from '../../app/api-key.ts';
import type { Command } from './command.ts';

export const makeKey: Command = {
  usage: `Usage: petstore make-key [NAME]

Prints a new API key for the client, and its line for the API keys file.
`,
  operands: 1,
  read({ operands: [name], mistakes }, { print }) {
    const problem = name === undefined ? undefined : keyNameProblem(name);
    if (problem !== undefined) mistakes.push(`NAME ${problem}`);
    return async () => {
      const key = createApiKey();
      const digest = crypto.hash('sha256', key, 'hex');
      print(`# The API key, for the client:\n${key}`);
      print('# Its line, for the API keys file:');
      print(`${name === undefined ? '' : `${name}: `}sha256:${digest}`);
    };
  },
};
