/** Declares tests of wrong options, of the core or of an extra. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApp, type App } from '../../src/app.ts';
import { createMemoryStore } from '../../src/core/store/memory-store.ts';
import { KEY } from '../support/http/service.ts';

const store = createMemoryStore();
const create = (options: object): App => createApp({ store, apiKeys: [KEY], ...options });
export const withoutStore = (options: object): object => ({ store: undefined, ...options });

/** Options beside a store and an API key, and the message, or how it begins before `…`. */
export function testWrongOptions(
  rows: readonly (readonly [options: object, message: string])[],
): void {
  for (const [index, [options, message]] of rows.entries()) {
    test(`An app is not created with wrong options (${index}): ${message}`, () => {
      assert.throws(() => create(options), isTypeError(message));
    });
  }
}

/** Returns whether an error is a TypeError with the message, or with its beginning before `…`. */
export function isTypeError(message: string): (error: Error) => boolean {
  const [start = '', end] = message.split('…');
  return ({ name, message: text }) =>
    name === 'TypeError' && (end === undefined ? text === message : text.startsWith(start));
}
