/**
 * The table of settings of the process and of an app. A row may have an environment variable
 * of the process, the reader of its values, and its line of the help. If it has a placeholder, the
 * process has a flag, too, named after the variable. An app may have an option with the name of the
 * row.
 *
 * The process parses a text into a value first. Each rule about a value is therefore here once, and
 * the process and the app report it in the same words, each under its own name.
 */

import { DEFAULT_BODY_LIMIT_BYTES, MAX_BODY_LIMIT_BYTES } from './http/request-body.ts';
import { isOrigin } from './ops/cors.ts';
import { DEFAULT_PREFIX, type EtcdOptionName } from './stores/etcd/etcd-options.ts';

export type SettingName =
  | 'port'
  | 'host'
  | 'prefix'
  | 'dataFile'
  | 'memory'
  | 'etcd'
  /** A member of the option `etcd`. */
  | `etcd.${EtcdOptionName}`
  | 'store'
  | 'apiKeysFile'
  | 'apiKeys'
  | 'bodyLimitBytes'
  | 'accessLog'
  | 'corsOrigins'
  | 'page'
  | 'log'
  | 'now'
  | 'runtime';

export interface Setting {
  readonly variable?: string;
  /** What follows the flag, if there is one, in the help. In brackets: the flag alone means on. */
  readonly placeholder?: string;
  readonly help?: string;
  /** Absent for the host, paths, API keys (see api-key.ts), etcd (see etcd-options.ts), a store. */
  readonly reader?: Reader;
  /** True if it is not an option of an app. */
  readonly isProcessOnly?: true;
}

export interface Reader {
  /** Returns the value that a text stands for, or the text itself if it stands for none. */
  parse(text: string): unknown;
  /** Returns what is wrong with a value. */
  problems(value: unknown): readonly Problem[];
  /** What is expected of a text, if it differs from what is expected of a value. */
  readonly expectedText?: string;
}

export interface Problem {
  /** The element of a list, such as `[2]`; '' for the value itself. */
  readonly at: string;
  /** What follows "must be" or "expected". */
  readonly expected: string;
  readonly value: unknown;
}

/** Under the working directory. */
export const DEFAULT_DATA_FILE = 'data/pets.json';
export const DEFAULT_PORT = 8080;
export const DEFAULT_HOST = '127.0.0.1';

/** Reads a text as it is, and checks a value by a condition. */
function reader(expected: string, isValid: (value: unknown) => boolean): Reader {
  return {
    parse: (text) => text,
    problems: (value) => (isValid(value) ? [] : [{ at: '', expected, value }]),
  };
}

function integer(min: number, max: number): Reader {
  const isValid = (value: unknown): boolean =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return {
    ...reader(`an integer from ${min} to ${max}`, isValid),
    parse: (text) => (/^[0-9]+$/.test(text) ? Number(text) : text),
  };
}

const onOrOff: Reader = {
  ...reader('true or false', (value) => typeof value === 'boolean'),
  parse: (text) => (text === 'on' || text === 'off' ? text === 'on' : text),
  expectedText: 'on or off',
};

const aFunction: Reader = reader('a function', (value) => typeof value === 'function');

const origins: Reader = {
  parse: (list) => list.split(',').map((origin) => origin.trim()),
  problems(value) {
    if (!Array.isArray(value)) return [{ at: '', expected: 'an array of origins', value }];
    // Array.from, since flatMap would pass over holes.
    return Array.from(value).flatMap((origin: unknown, index) =>
      typeof origin === 'string' && isOrigin(origin)
        ? []
        : [{ at: `[${index}]`, expected: AN_ORIGIN, value: origin }],
    );
  },
};

const AN_ORIGIN = 'an origin such as https://shop.example, or *';

const prefix: Reader = reader(
  'segments such as /shop',
  (value) => typeof value === 'string' && PREFIX.test(value),
);

const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/;

const runtime: Reader = reader('an object with nodeVersion and openConnections', (value) => {
  if (typeof value !== 'object' || value === null) return false;
  const { nodeVersion, openConnections } = value as Record<string, unknown>;
  return typeof nodeVersion === 'string' && typeof openConnections === 'function';
});

/** In the order in which the help shows them. */
export const SETTINGS: Readonly<Record<SettingName, Setting>> = {
  port: {
    variable: 'PORT',
    placeholder: '<number>',
    help: `port to listen on, 0 for any (${DEFAULT_PORT})`,
    reader: integer(0, 65_535),
    isProcessOnly: true,
  },
  host: {
    variable: 'HOST',
    placeholder: '<address>',
    help: `address to bind to (${DEFAULT_HOST})`,
    isProcessOnly: true,
  },
  prefix: {
    variable: 'PETSTORE_PREFIX',
    placeholder: '<path>',
    help: 'what every path begins with, for example /shop (none)',
    reader: prefix,
  },
  dataFile: {
    variable: 'PETSTORE_DATA_FILE',
    placeholder: '<path>',
    help: `the data file (${DEFAULT_DATA_FILE})`,
  },
  memory: {
    variable: 'PETSTORE_MEMORY',
    placeholder: '[on|off]',
    help: 'keep pets in memory only; a data file is read and never written (off)',
    reader: onOrOff,
  },
  etcd: {},
  'etcd.endpoints': {
    variable: 'PETSTORE_ETCD',
    placeholder: '<urls>',
    help: 'keep the pets in an etcd cluster: its endpoints, separated by commas (none)',
  },
  'etcd.prefix': {
    variable: 'PETSTORE_ETCD_PREFIX',
    help: `what all etcd keys of the service begin with (${DEFAULT_PREFIX})`,
  },
  'etcd.caFile': {
    variable: 'PETSTORE_ETCD_CA_FILE',
    help: 'the certificate of the authority of https:// endpoints (PEM)',
  },
  'etcd.certFile': {
    variable: 'PETSTORE_ETCD_CERT_FILE',
    help: "the service's own certificate for https:// endpoints (PEM)",
  },
  'etcd.keyFile': {
    variable: 'PETSTORE_ETCD_KEY_FILE',
    help: 'the private key of that certificate (PEM)',
  },
  'etcd.user': {
    variable: 'PETSTORE_ETCD_USER',
    help: "the user's name, if authentication is on in etcd",
  },
  'etcd.passwordFile': {
    variable: 'PETSTORE_ETCD_PASSWORD_FILE',
    help: "a file with the user's password",
  },
  store: {},
  apiKeysFile: {
    variable: 'PETSTORE_API_KEYS_FILE',
    placeholder: '<path>',
    help: 'API keys, one per line: [NAME: ]KEY[ read-metrics]; read again on SIGHUP',
    isProcessOnly: true,
  },
  apiKeys: {
    variable: 'PETSTORE_API_KEYS',
    help: 'API keys, separated by commas',
  },
  bodyLimitBytes: {
    variable: 'PETSTORE_BODY_LIMIT',
    placeholder: '<bytes>',
    help: `longest request body (${DEFAULT_BODY_LIMIT_BYTES})`,
    reader: integer(1, MAX_BODY_LIMIT_BYTES),
  },
  accessLog: {
    variable: 'PETSTORE_ACCESS_LOG',
    placeholder: '[on|off]',
    help: 'log each response (off)',
    reader: onOrOff,
  },
  corsOrigins: {
    variable: 'PETSTORE_CORS_ORIGIN',
    placeholder: '<list>',
    help: 'origins of web pages that may use the service, separated by commas, or * for all (none)',
    reader: origins,
  },
  page: {
    variable: 'PETSTORE_PAGE',
    placeholder: '<on|off>',
    help: 'a page at / and a reference at /docs (on)',
    reader: onOrOff,
  },
  log: { reader: aFunction },
  now: { reader: aFunction },
  runtime: { reader: runtime },
};

/** The rows that the process has. */
export const PROCESS_SETTINGS: readonly Setting[] = Object.values(SETTINGS).filter(
  ({ variable }) => variable !== undefined,
);

/** Returns the flag of a setting, if it has one: the name of its variable without PETSTORE_. */
export function flagOf({ variable, placeholder }: Setting): string | undefined {
  if (placeholder === undefined) return undefined;
  return variable?.replace('PETSTORE_', '').toLowerCase().replaceAll('_', '-');
}

/** The options of an app. */
export const OPTION_NAMES: readonly string[] = Object.entries(SETTINGS)
  .filter(([name, { isProcessOnly }]) => isProcessOnly !== true && !name.includes('.'))
  .map(([name]) => name);
