/**
 * Reads the settings of a run from the environment, so that `node --test` can run the suite as an
 * ordinary test file. The command only converts its arguments to these variables.
 */

import { readFileSync } from 'node:fs';
import { parseInt64 } from '../base/int64.ts';
import { LEVELS, type Level } from './check.ts';
import { CHECKS, checksOf, isOf } from './checks.ts';
import type { ConformanceOptions } from './conformance.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variable for the base URL (`url`) and for each option of the command. */
export const NAMES = {
  url: 'CONFORMANCE_URL',
  key: 'CONFORMANCE_API_KEY',
  level: 'CONFORMANCE_LEVEL',
  only: 'CONFORMANCE_ONLY',
  header: 'CONFORMANCE_HEADERS',
  category: 'CONFORMANCE_CATEGORY',
  'expected-failures': 'CONFORMANCE_EXPECTED_FAILURES',
  strict: 'CONFORMANCE_STRICT',
  wait: 'CONFORMANCE_WAIT',
} as const;

export interface Settings extends ConformanceOptions {
  /** How long to wait for a service that is starting. */
  readonly waitMs: number;
}

/** Throws an Error if a setting is missing or invalid. */
export function readSettings(env: Environment): Settings {
  const key = env[NAMES.key] ?? '';
  const only = linesOf(env[NAMES.only]);
  const level = readLevel(env[NAMES.level] ?? (only.length > 0 ? 'http' : 'interface'));
  const baseUrl = readBaseUrl(env[NAMES.url] ?? '');
  if (!/^[!-~]+$/.test(key)) throw new Error(`An API key is needed: --key, or ${NAMES.key}`);
  checkIds(only, '--only');
  if (checksOf(level, only).length === 0) {
    throw new Error(`--only ${only.join()} has no check at the level ${level}`);
  }
  return {
    baseUrl,
    key,
    level,
    only,
    headers: readHeaders(linesOf(env[NAMES.header])),
    categoryId: readCategory(env[NAMES.category] ?? '1'),
    expectedFailures: readExpectedFailures(env[NAMES['expected-failures']]),
    isStrict: (env[NAMES.strict] ?? '') !== '',
    waitMs: readWait(env[NAMES.wait] ?? '0s'),
  };
}

/** Returns the lines that are not empty. */
function linesOf(text = ''): readonly string[] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

export function readLevel(text: string): Level {
  const level = LEVELS.find((known) => known === text);
  if (level === undefined) throw new Error(`--level is ${LEVELS.join(', ')}, not "${text}"`);
  return level;
}

/** Returns the base URL without a trailing slash. */
function readBaseUrl(text: string): string {
  if (text === '') throw new Error('A base URL is needed, such as https://host/v1');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(`The base URL must begin with http:// or https://, not "${text}"`);
  }
  const path = url.pathname.replace(/\/$/, '');
  if (!path.endsWith('/v1')) throw new Error(`The base URL must end in /v1, not "${text}"`);
  return `${url.origin}${path}`;
}

function readHeaders(lines: readonly string[]): Readonly<Record<string, string>> {
  const fields = lines.map((line) => {
    const [, name, value] = /^([!#$%&'*+.^`|~\w-]+):\s*(.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`--header must be 'Name: value', not "${line}"`);
    return [name, value ?? ''] as const;
  });
  return Object.fromEntries(fields);
}

function readCategory(text: string): bigint {
  const category = parseInt64(text);
  if (category === undefined) throw new Error(`--category must be an integer, not "${text}"`);
  return category;
}

function readWait(text: string): number {
  const [, digits, unit = ''] = /^([0-9]{1,4})(s|m)$/.exec(text) ?? [];
  if (digits === undefined) throw new Error(`--wait must be a time such as 10s, not "${text}"`);
  return Number(digits) * (unit === 's' ? 1000 : 60_000);
}

/** Reads a file with one id per line and comments after #. */
function readExpectedFailures(path: string | undefined): readonly string[] {
  if (path === undefined || path === '') return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  const ids = lines.map((line) => line.replace(/#.*/, '').trim()).filter((id) => id !== '');
  const unknown = ids.find((id) => !CHECKS.some((check) => check.id === id));
  if (unknown !== undefined) throw new Error(`${path}: there is no check ${unknown}`);
  return ids;
}

export function checkIds(only: readonly string[], option: string): void {
  const unknown = only.find((name) => !CHECKS.some((check) => isOf(check)(name)));
  if (unknown !== undefined) throw new Error(`${option}: there is no check ${unknown}, see --list`);
}
