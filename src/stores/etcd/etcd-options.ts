/**
 * How to reach the cluster: the options of the etcd store, their defaults, and the check that
 * returns all problems with them together.
 */

import type { Log } from '../../base/log.ts';
import { isObject, mustBe, type Problem } from '../../base/problem.ts';
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

export const DEFAULT_PREFIX = 'petstore/';

/**
 * The longest request body with an etcd store: a commit of one pet must fit into a transaction, for
 * which etcd's limit is 1.5 MiB.
 */
export const MAX_ETCD_BODY_BYTES: number = 1 << 20;

const MAX_ENDPOINTS = 100;
/** At most 200 visible ASCII characters. */
const PREFIX = /^[\x21-\x7e]{0,199}\/$/;

/** The options that have a text. */
const TEXT_NAMES = ['prefix', 'caFile', 'certFile', 'keyFile', 'user', 'passwordFile'] as const;

export const ETCD_OPTION_NAMES: readonly EtcdOptionName[] = ['endpoints', ...TEXT_NAMES];

/** Each option that requires another one. */
const REQUIRED: readonly (readonly [EtcdOptionName, EtcdOptionName])[] = [
  ['certFile', 'keyFile'],
  ['keyFile', 'certFile'],
  ['user', 'passwordFile'],
  ['passwordFile', 'user'],
];

/** Returns all problems with the options. `path` is before the name of each: `etcd.`, if any. */
export function etcdProblems(etcd: unknown, path = ''): readonly Problem[] {
  if (!isObject(etcd)) return [mustBe(path.slice(0, -1), 'an object with endpoints', etcd)];
  const { endpoints, prefix } = etcd;
  const given = TEXT_NAMES.filter((name) => etcd[name] !== undefined);
  const requires = (name: EtcdOptionName, other: EtcdOptionName): Problem => ({
    option: `${path}${name}`,
    sentence: 'requires',
    other: `${path}${other}`,
  });
  if (endpoints === undefined && given.length > 0) {
    return given.map((name) => requires(name, 'endpoints'));
  }
  const problems = [...endpointProblems(`${path}endpoints`, endpoints)];
  for (const name of given) {
    const value = etcd[name];
    const isText = typeof value === 'string' && value !== '';
    if (!isText) problems.push(mustBe(`${path}${name}`, 'a non-empty string', value));
  }
  if (typeof prefix === 'string' && prefix !== '' && !PREFIX.test(prefix)) {
    problems.push(mustBe(`${path}prefix`, 'visible ASCII characters that end in a slash', prefix));
  }
  for (const [name, other] of REQUIRED) {
    if (etcd[name] !== undefined && etcd[other] === undefined) problems.push(requires(name, other));
  }
  const isSecure = [endpoints]
    .flat()
    .some((url) => typeof url === 'string' && /^https:/i.test(url));
  for (const name of ['caFile', 'certFile'] as const) {
    if (etcd[name] === undefined || isSecure) continue;
    problems.push({ option: `${path}${name}`, sentence: 'requires an https:// endpoint' });
  }
  return problems;
}

function endpointProblems(option: string, endpoints: unknown): readonly Problem[] {
  const isList = Array.isArray(endpoints) && endpoints.length > 0;
  if (!isList || endpoints.length > MAX_ENDPOINTS) {
    return [mustBe(option, `1 to ${MAX_ENDPOINTS} ${EXPECTED_ENDPOINTS}`, endpoints)];
  }
  const problems: Problem[] = [];
  const origins = new Set<string>();
  // Array.from, since a hole is a problem, too.
  for (const endpoint of Array.from(endpoints) as readonly unknown[]) {
    const origin = originOf(endpoint);
    if (origin === undefined) problems.push(mustBe(option, EXPECTED_ENDPOINTS, endpoint));
    else if (origins.has(origin)) problems.push({ option, sentence: `has ${origin} twice` });
    else origins.add(origin);
  }
  return problems;
}

const EXPECTED_ENDPOINTS = 'URLs such as http://127.0.0.1:2379, without a path or a password';

/** Returns the origin of an endpoint, or undefined unless it is a URL of scheme, host and port. */
function originOf(endpoint: unknown): string | undefined {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined;
  const { protocol, origin, host, hostname, port, href } = new URL(endpoint);
  const isPlain = href === `${protocol}//${host}/` && hostname !== '' && port !== '0';
  return isPlain && /^https?:$/.test(protocol) ? origin : undefined;
}
