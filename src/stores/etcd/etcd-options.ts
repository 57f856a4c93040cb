/**
 * How to reach the cluster: the options of the etcd store, their defaults, and the check that
 * reports all problems with them together.
 *
 * The names are those of the embedding API. The process reports the same problems under the names
 * of its variables, so a problem consists of a name and a sentence.
 */

import type { Log } from '../../base/log.ts';
import { cut, quote } from '../../base/quote.ts';
import type { EtcdCalls, EtcdClock } from './calls.ts';

export interface EtcdOptions {
  /** The client URLs of all members of one cluster, `http://host:2379` or `https://…`. */
  readonly endpoints: readonly string[];
  /** The beginning of all etcd keys of this log, with a slash at its end (`petstore/`). */
  readonly prefix?: string | undefined;
  /** For https: the certificate of the authority that signed the members' certificates (PEM). */
  readonly caFile?: string | undefined;
  /** For https: the client's certificate and private key (PEM), read for each connection. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** If etcd's auth is on: a user, and a file with the password, whose end of line is ignored. */
  readonly user?: string | undefined;
  readonly passwordFile?: string | undefined;
}

/** What a program that opens or makes a log can give in addition. */
export interface ClusterOptions extends EtcdOptions {
  readonly log?: Log | undefined;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
  /** For tests: used instead of the endpoints. */
  readonly calls?: EtcdCalls | undefined;
  readonly clock?: EtcdClock | undefined;
}

export type EtcdOptionName = keyof EtcdOptions;

export interface EtcdProblem {
  readonly name: EtcdOptionName;
  /** What is wrong, to follow the name: "must …, not …". */
  readonly sentence: string;
}

export const DEFAULT_PREFIX = 'petstore/';

/**
 * The longest request body with an etcd store: a commit of one pet must fit into a transaction, for
 * which etcd's limit is 1.5 MiB.
 */
export const MAX_ETCD_BODY_BYTES: number = 1 << 20;

const MAX_ENDPOINTS = 100;
/** At most 200 visible ASCII characters. */
const PREFIX = /^[\x21-\x7e]{0,199}\/$/;

export const ETCD_OPTION_NAMES: readonly EtcdOptionName[] = [
  'endpoints',
  'prefix',
  'caFile',
  'certFile',
  'keyFile',
  'user',
  'passwordFile',
];

/** Returns all problems with the options, which may have any values. */
export function etcdProblems(options: Readonly<Record<string, unknown>>): readonly EtcdProblem[] {
  const problems: EtcdProblem[] = [];
  const report = (name: EtcdOptionName, sentence: string): void => {
    problems.push({ name, sentence });
  };
  for (const name of ETCD_OPTION_NAMES) {
    const value = options[name];
    const isText = typeof value === 'string' && value !== '';
    if (name !== 'endpoints' && value !== undefined && !isText) {
      report(name, 'must be a non-empty string');
    }
  }
  const endpoints = options['endpoints'];
  for (const sentence of endpointSentences(endpoints)) report('endpoints', sentence);
  const { prefix } = options;
  if (typeof prefix === 'string' && !PREFIX.test(prefix)) {
    report('prefix', `must be visible ASCII characters that end in a slash, not ${quote(prefix)}`);
  }
  const has = (name: EtcdOptionName): boolean => options[name] !== undefined;
  if (has('certFile') && !has('keyFile'))
    report('certFile', 'needs the key of the certificate too');
  if (has('keyFile') && !has('certFile')) report('keyFile', 'needs the certificate too');
  if (has('user') && !has('passwordFile')) report('user', 'needs a file with the password too');
  if (has('passwordFile') && !has('user')) report('passwordFile', 'needs the name of the user too');
  const isSecure =
    Array.isArray(endpoints) && endpoints.some((url) => /^https:/i.test(String(url)));
  for (const name of ['caFile', 'certFile'] as const) {
    if (has(name) && !isSecure) report(name, 'requires an https:// endpoint');
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
      // The message must not contain the password of a URL.
      const text = String(endpoint).replace(/\/\/.*@/, '//…@');
      sentences.push(`${expected}, not ${typeof endpoint === 'string' ? quote(text) : cut(text)}`);
    } else if (origins.has(origin)) {
      sentences.push(`must differ, but ${origin} is listed twice`);
    } else {
      origins.add(origin);
    }
  }
  return sentences;
}

/** Returns the origin of an endpoint, or undefined unless it is a URL of scheme, host and port. */
function endpointOrigin(endpoint: unknown): string | undefined {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  const isPlain = url.pathname === '/' && url.search === '' && url.hash === '';
  const hasUser = url.username !== '' || url.password !== '';
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  const hasAddress = url.hostname !== '' && url.port !== '0';
  return isWeb && isPlain && !hasUser && hasAddress ? url.origin : undefined;
}
