/**
 * One etcd member: POST requests to its gateway, over connections that are kept alive.
 *
 * If a request fails, what matters most is whether all of it can have arrived: etcd does nothing
 * with a part. It counts as sent as soon as it has a connected socket (with TLS, a secured one). A
 * kept-alive connection that turns out to be cut therefore leaves the request in doubt, not
 * "unsent". The last byte of a long request is written only after the system has taken all other
 * bytes: until then the request is unsent.
 *
 *     what is waited for                                at most
 *     a connection, and the first byte of the response  2 s (a check: 1 s), and 4 s for each MiB
 *     both for a request of more than 64 KiB            as long until the system has taken it, and
 *                                                       as long again for the first byte
 *     each further byte                                 as long
 *     the rest of the response                          30 s, at 64 KiB a second or faster
 */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';
import { etcdClock, type CallResult, type EtcdClock, type FailedCall } from './calls.ts';
import { decodeResponse } from './etcd-json.ts';
import type { ClusterOptions, EtcdOptions } from './etcd-options.ts';

/**
 * What is known after a status code of gRPC; after any other, a request is in doubt. A member
 * returns most of these before it replicates the request: 3 is "invalid argument", 7 "permission
 * denied", 16 "unauthenticated". 8 is "resource exhausted", and 15, "data loss", is the alarm
 * CORRUPT: while it is raised, each write is refused.
 */
const FAILURES: Readonly<Record<number, FailedCall['kind']>> = {
  3: 'refused',
  7: 'refused',
  8: 'no space',
  15: 'refused',
  16: 'refused',
};

/** The longest response: decoding it into an array of commits takes about a gigabyte. */
export const MAX_RESPONSE_BYTES: number = 64 << 20;

/** The lowest speed of a response. Without it an occasional byte would keep a request forever. */
const MIN_BYTES_PER_MS = 64;
const MAX_RESPONSE_MS = 30_000;

/** The lowest speed of a request, and the length from which its last byte is held back. */
const MIN_SENT_PER_MS = 256;
const LONG_REQUEST_BYTES: number = 64 << 10;

/** An idle connection is kept open for a minute. */
const KEPT_ALIVE = { keepAlive: true, timeout: 60_000 } as const;

/** As in endpoints.ts, where each is explained. */
export type EndpointState = 'working' | 'failed' | 'strange';

export class Member {
  /** As configured, for messages. */
  readonly url: string;
  /** Only endpoints.ts changes the state, and when the member entered it. */
  state: EndpointState = 'working';
  since: number = -Infinity;
  /** True if it is known to belong to the cluster. Only endpoints.ts changes it. */
  isChecked = false;
  readonly #url: URL;
  readonly #isSecure: boolean;
  readonly #agent: http.Agent;
  readonly #options: EtcdOptions;
  readonly #clock: EtcdClock;

  constructor(url: string, options: ClusterOptions) {
    this.url = url;
    this.#options = options;
    this.#clock = options.clock ?? etcdClock;
    this.#url = new URL(url);
    this.#isSecure = this.#url.protocol === 'https:';
    this.#agent = this.#isSecure ? secureAgent(options) : new http.Agent(KEPT_ALIVE);
  }

  /**
   * Sends a request. Resolves with its response, or with what is known after a failure or an error;
   * it never rejects. `timeoutMs` is that of a short request.
   */
  post(path: string, body: string, timeoutMs: number, token?: string): Promise<CallResult> {
    return new Promise((resolve) => {
      const headers = {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        ...(token === undefined ? {} : { Authorization: token }),
      };
      const { request: send } = this.#isSecure ? https : http;
      const request = send(this.#url, { path, method: 'POST', headers, agent: this.#agent });
      const isLong = body.length > LONG_REQUEST_BYTES;
      let isSent = false;
      const fail = (cause: string, kind: 'in doubt' | 'too long' = 'in doubt'): void => {
        stopWaiting();
        // The first call counts.
        resolve({ kind: isSent ? kind : 'unsent', cause: `${this.url}: ${cause}` });
        request.destroy();
      };
      const waitMs = timeoutMs + Math.floor(body.length / MIN_SENT_PER_MS);
      const wait = (): (() => void) =>
        this.#clock.every(waitMs, () => fail(`no response within ${waitMs} ms`));
      let stopWaiting = wait();
      const waitAgain = (): void => {
        stopWaiting();
        stopWaiting = wait();
      };
      request.on('socket', (socket) => {
        if (isLong) return;
        const connected = this.#isSecure ? 'secureConnect' : 'connect';
        if (socket.connecting) socket.once(connected, () => (isSent = true));
        else isSent = true;
      });
      request.on('error', (error) => fail(this.#causeOf(error)));
      request.on('response', (response) => {
        const beganAt = this.#clock.now();
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          waitAgain();
          length += chunk.length;
          chunks.push(chunk);
          const takenMs = this.#clock.now() - beganAt;
          const allowedMs = Math.min(MAX_RESPONSE_MS, waitMs + length / MIN_BYTES_PER_MS);
          if (length > MAX_RESPONSE_BYTES) fail('the response is too long', 'too long');
          else if (takenMs > allowedMs) fail('it responds too slowly');
        });
        response.on('error', (error) => fail(error.message));
        response.on('close', () => fail('the connection ended within the response'));
        response.on('end', () => {
          stopWaiting();
          const decoded = decodeResponse(Buffer.concat(chunks).toString('utf8'));
          if ('kind' in decoded) return resolve(decoded);
          const unknown = `the response, with HTTP status ${response.statusCode}, is not from etcd`;
          const { code = 0, message = unknown } = decoded;
          resolve({ kind: FAILURES[code] ?? 'in doubt', cause: `${this.url}: ${message}` });
        });
      });
      if (!isLong) return void request.end(body);
      request.write(body.slice(0, -1), (error) => {
        if (error || request.destroyed) return;
        isSent = true;
        waitAgain();
        request.end(body.slice(-1));
      });
    });
  }

  /** Says whose certificate is wrong: OpenSSL's text does not. */
  #causeOf({ message, code = '' }: NodeJS.ErrnoException): string {
    if (code === 'CERT_HAS_EXPIRED') return "the member's certificate has expired";
    if (!/ALERT.*(CERTIFICATE|_CA)/.test(code)) return message;
    if (this.#options.certFile === undefined) return 'the member requires a client certificate';
    try {
      const { validTo } = new X509Certificate(readFileSync(this.#options.certFile));
      return `the member refuses the client certificate, which is valid until ${validTo}`;
    } catch {
      return message;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Returns an agent that reads the certificates for each connection: they may be renewed. */
function secureAgent(options: EtcdOptions): https.Agent {
  const agent = new https.Agent(KEPT_ALIVE);
  agent.createConnection = ((
    target: tls.ConnectionOptions,
    done: (error: unknown) => void,
  ): tls.TLSSocket | undefined => {
    try {
      return tls.connect({ ...target, ...readCertificates(options) });
    } catch (error) {
      // If a file is half written, this request fails, and the next one reads it again.
      return void done(error);
    }
  }) as https.Agent['createConnection'];
  return agent;
}

/** Throws if a file cannot be read. */
export function readCertificates(options: EtcdOptions): tls.ConnectionOptions {
  const read = (path: string | undefined): Buffer | undefined =>
    path === undefined ? undefined : readFileSync(path);
  return { ca: read(options.caFile), cert: read(options.certFile), key: read(options.keyFile) };
}
