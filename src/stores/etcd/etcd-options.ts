/**
 * How to reach the cluster: the options of the etcd store, their defaults, and what is wrong with
 * them, all of it at once.
 *
 * The names are those of the embedding API. The configuration of the process tells the same
 * mistakes under the names of its variables, so a problem comes as a name and a sentence.
 */

import { cut, quote } from '../../base/quote.ts';

export interface EtcdOptions {
  /** The members' client URLs, `http://host:2379` or `https://…`, all of one cluster. */
  readonly endpoints: readonly string[];
  /** What all keys of this log begin with; it ends in a slash. `petstore/` by default. */
  readonly prefix?: string | undefined;
  /** For https: the certificate of the authority that signed the members' certificates (PEM). */
  readonly caFile?: string | undefined;
  /**
   * For https: the client's own certificate and its key (PEM). They are read for each connection.
   */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /**
   * Where etcd's auth is on: a user, and a file with the password, whose end of line is dropped.
   */
  readonly user?: string | undefined;
  readonly passwordFile?: string | undefined;
}

export type EtcdOptionName = keyof EtcdOptions;

export interface EtcdProblem {
  readonly name: EtcdOptionName;
  /** What was expected and what was given: "must …, not …". */
  readonly sentence: string;
}

export const DEFAULT_PREFIX = 'petstore/';

/**
 * The longest request body beside an etcd store. etcd takes 1.5 MiB in a transaction, and a commit
 * of one pet, with what is around it, has to fit.
 */
export const MAX_ETCD_BODY_BYTES: number = 1 << 20;

const MAX_ENDPOINTS = 100;
const MAX_PREFIX_LENGTH = 200;

export const ETCD_OPTION_NAMES: readonly EtcdOptionName[] = [
  'endpoints',
  'prefix',
  'caFile',
  'certFile',
  'keyFile',
  'user',
  'passwordFile',
];

/** All that is wrong with the options, which may be anything. */
export function etcdProblems(options: Readonly<Record<string, unknown>>): readonly EtcdProblem[] {
  const problems: EtcdProblem[] = [];
  const note = (name: EtcdOptionName, sentence: string): void => {
    problems.push({ name, sentence });
  };
  for (const name of ETCD_OPTION_NAMES) {
    const value = options[name];
    const isText = typeof value === 'string' && value !== '';
    if (name !== 'endpoints' && value !== undefined && !isText) note(name, 'must be a text');
  }
  const endpoints = options['endpoints'];
  for (const sentence of endpointSentences(endpoints)) note('endpoints', sentence);
  const { prefix } = options;
  if (typeof prefix === 'string' && !isPrefix(prefix)) {
    note('prefix', `must be visible ASCII characters that end in a slash, not ${quote(prefix)}`);
  }
  const has = (name: EtcdOptionName): boolean => options[name] !== undefined;
  if (has('certFile') && !has('keyFile')) note('certFile', 'needs the key of the certificate too');
  if (has('keyFile') && !has('certFile')) note('keyFile', 'needs the certificate too');
  if (has('user') && !has('passwordFile')) note('user', 'needs a file with the password too');
  if (has('passwordFile') && !has('user')) note('passwordFile', 'needs the name of the user too');
  const isSecure = Array.isArray(endpoints) && endpoints.some((url) => isSecureUrl(url));
  for (const name of ['caFile', 'certFile'] as const) {
    if (has(name) && !isSecure) note(name, 'is for https:// endpoints, and there are none');
  }
  return problems;
}

function endpointSentences(endpoints: unknown): readonly string[] {
  if (!Array.isArray(endpoints) || endpoints.length === 0) return ['must be a list of URLs'];
  if (endpoints.length > MAX_ENDPOINTS) return [`must be at most ${MAX_ENDPOINTS} URLs`];
  const sentences: string[] = [];
  const origins = new Set<string>();
  for (const endpoint of Array.from(endpoints) as readonly unknown[]) {
    const origin = endpointOrigin(endpoint);
    if (origin === undefined) {
      const expected = 'must be URLs such as http://127.0.0.1:2379, without a path or a password';
      // A password in a URL is for nobody's log.
      const shown = typeof endpoint === 'string' ? quote(endpoint.replace(/\/\/.*@/, '//…@')) : '';
      sentences.push(`${expected}, not ${shown === '' ? cut(String(endpoint)) : shown}`);
    } else if (origins.has(origin)) {
      sentences.push(`must differ, but ${origin} is there twice`);
    } else {
      origins.add(origin);
    }
  }
  return sentences;
}

/** The origin of an endpoint; undefined where it is no URL of scheme, host and port. */
function endpointOrigin(endpoint: unknown): string | undefined {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  const isPlain = url.pathname === '/' && url.search === '' && url.hash === '';
  const hasUser = url.username !== '' || url.password !== '';
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const hasAddress = url.hostname !== '' && url.port !== '0';
  return isWeb && isPlain && !hasUser && hasAddress ? url.origin : undefined;
}

function isSecureUrl(endpoint: unknown): boolean {
  return typeof endpoint === 'string' && endpoint.toLowerCase().startsWith('https:');
}

function isPrefix(prefix: string): boolean {
  return prefix.length <= MAX_PREFIX_LENGTH && /^[\x21-\x7e]*\/$/.test(prefix);
}
