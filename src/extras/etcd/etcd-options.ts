/**
 * How to reach the cluster: the options of the etcd store, their defaults, and the check that
 * returns all errors in them together.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { integer } from '../../core/app/service-options.ts';
import { isObject } from '../../core/base/exact-json.ts';
import { messageOf, type Logger } from '../../core/base/logger.ts';
import {
  memberErrors,
  mustBe,
  matching,
  type Check,
  type OptionError,
} from '../../core/base/option-error.ts';
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
  readonly log?: Logger | undefined;
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined;
  /** For tests: used instead of the endpoints. */
  readonly calls?: EtcdCalls | undefined;
  readonly clock?: EtcdClock | undefined;
}

export const DEFAULT_PREFIX = 'petstore/';

/**
 * The check of the longest request body with an etcd store: a commit of one pet must fit into a
 * transaction, for which etcd's limit is 1.5 MiB.
 */
export const bodyLimitOnEtcd: Check = integer(1, 1 << 20, ' on etcd');

const MAX_ENDPOINTS = 100;

const nonEmpty = matching('a non-empty string', /[^]/);

/**
 * Returns the check of a file that is read again later, so its content is not kept. `parse` throws
 * if the content is not as expected.
 */
function aFile(expected = '', parse: (content: Buffer) => unknown = () => undefined): Check {
  return (value, option) => {
    const errors = nonEmpty(value, option);
    if (errors.length > 0) return errors;
    try {
      parse(readFileSync(value as string));
      return [];
    } catch (error) {
      const isRead = (error as NodeJS.ErrnoException).syscall === undefined;
      if (isRead) return [mustBe(option, `a file with ${expected}`, value)];
      return [{ option, sentence: `cannot be read: ${messageOf(error)}` }];
    }
  };
}

/** node:tls ignores a file of authorities without a certificate in it. */
const aCertificate = aFile('a certificate (PEM)', (pem) => new X509Certificate(pem.toString()));

const CHECKS: Readonly<Record<keyof EtcdOptions, Check>> = {
  endpoints: endpointErrors,
  // At most 200 characters.
  prefix: matching('visible ASCII characters that end in a slash', /^[\x21-\x7e]{0,199}\/$/),
  caFile: aCertificate,
  certFile: aCertificate,
  keyFile: aFile('a private key (PEM) without a passphrase', createPrivateKey),
  user: nonEmpty,
  passwordFile: aFile(),
};

/** What a program adds to the options in ClusterOptions. */
const notChecked = { log: () => [], signal: () => [], calls: () => [], clock: () => [] };

/** Returns all errors in the options. `path` is before the name of each: `etcd.`, if any. */
export function etcdErrors(etcd: unknown, path = ''): readonly OptionError[] {
  if (!isObject(etcd)) return [mustBe(path.slice(0, -1), 'an object with endpoints', etcd)];
  const { endpoints } = etcd;
  const given = Object.keys(CHECKS).filter((name) => etcd[name] !== undefined);
  const requires = (name: string, other: string): readonly OptionError[] => {
    if (!given.includes(name) || given.includes(other)) return [];
    return [{ option: `${path}${name}`, sentence: 'requires', other: `${path}${other}` }];
  };
  const mayBeSecure = [endpoints]
    .flat()
    .some((url) => url === undefined || (typeof url === 'string' && /^https:/i.test(url)));
  const sentence = 'requires an https:// endpoint';
  const onlyForTls = ['caFile', 'certFile'].filter((name) => given.includes(name) && !mayBeSecure);
  const required = given.length === 0 ? ['endpoints'] : [];
  return [
    ...memberErrors(etcd, { ...CHECKS, ...notChecked }, required, path),
    ...given.flatMap((name) => requires(name, 'endpoints')),
    ...[...requires('certFile', 'keyFile'), ...requires('keyFile', 'certFile')],
    ...[...requires('user', 'passwordFile'), ...requires('passwordFile', 'user')],
    ...onlyForTls.map((name) => ({ option: `${path}${name}`, sentence })),
  ];
}

const EXPECTED_ENDPOINTS = 'URLs such as http://127.0.0.1:2379, without a path or a password';

function endpointErrors(endpoints: unknown, option: string): readonly OptionError[] {
  const isList = Array.isArray(endpoints) && endpoints.length > 0;
  if (!isList || endpoints.length > MAX_ENDPOINTS) {
    return [mustBe(option, `1 to ${MAX_ENDPOINTS} ${EXPECTED_ENDPOINTS}`, endpoints)];
  }
  // Array.from, since a hole is an error, too.
  const origins = Array.from(endpoints as readonly unknown[], originOf);
  return origins.flatMap((origin, index) => {
    if (origin === undefined) return [mustBe(option, EXPECTED_ENDPOINTS, endpoints[index])];
    const isRepeated = origins.indexOf(origin) < index;
    return isRepeated ? [{ option, sentence: `has ${origin} twice` }] : [];
  });
}

/** Returns the origin of an endpoint, or undefined unless it is a URL of scheme, host and port. */
function originOf(endpoint: unknown): string | undefined {
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined;
  const { protocol, origin, host, hostname, port, href } = new URL(endpoint);
  const isPlain = href === `${protocol}//${host}/` && hostname !== '' && port !== '0';
  return isPlain && /^https?:$/.test(protocol) ? origin : undefined;
}
