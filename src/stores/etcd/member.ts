/**
 * One etcd member: POST requests to its gateway, over connections that are kept alive.
 *
 * If a request fails, what matters most is whether any part of it can have arrived. It counts as
 * sent as soon as it has a connected socket (with TLS, a secured one). A kept-alive connection that
 * turns out to be cut therefore leaves the request in doubt, not "unsent".
 */

import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';
import type { FailedCall } from './calls.ts';
import type { Endpoint, EndpointState } from './endpoints.ts';
import type { EtcdOptions } from './etcd-options.ts';

export type MemberResponse =
  { readonly kind: 'answered'; readonly status: number; readonly text: string } | FailedCall;

/** The longest response: decoding it into an array of commits takes about a gigabyte. */
const MAX_RESPONSE_BYTES: number = 64 << 20;

/** The lowest speed of a response. Without it an occasional byte would keep a request forever. */
const MIN_BYTES_PER_MS = 64;

/** An idle connection is kept open for a minute. */
const KEPT_ALIVE = { keepAlive: true, timeout: 60_000 } as const;

export class Member implements Endpoint {
  /** As configured, for messages. */
  readonly url: string;
  state: EndpointState = 'working';
  since: number = -Infinity;
  roundTripMs: number = Infinity;
  readonly #url: URL;
  readonly #isSecure: boolean;
  readonly #agent: http.Agent;

  constructor(url: string, options: EtcdOptions) {
    this.url = url;
    this.#url = new URL(url);
    this.#isSecure = this.#url.protocol === 'https:';
    this.#agent = this.#isSecure ? secureAgent(options) : new http.Agent(KEPT_ALIVE);
  }

  /**
   * Sends a request. It never rejects. `timeoutMs` is the longest time without a byte of the
   * response. The whole response may take that long, and 1 ms more for each MIN_BYTES_PER_MS bytes.
   */
  post(path: string, body: string, timeoutMs: number, token?: string): Promise<MemberResponse> {
    return new Promise((resolve) => {
      const headers = {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(body),
        ...(token === undefined ? {} : { Authorization: token }),
      };
      const { request: send } = this.#isSecure ? https : http;
      const request = send(this.#url, { path, method: 'POST', headers, agent: this.#agent });
      let isSent = false;
      const fail = (cause: string, kind: 'in doubt' | 'too long' = 'in doubt'): void => {
        clearTimeout(timer);
        // The first call counts.
        resolve({ kind: isSent ? kind : 'unsent', cause: `${this.url}: ${cause}` });
        request.destroy();
      };
      const timer = setTimeout(() => fail(`no response within ${timeoutMs} ms`), timeoutMs);
      const startedAt = performance.now();
      request.on('socket', (socket) => {
        const connected = this.#isSecure ? 'secureConnect' : 'connect';
        if (socket.connecting) socket.once(connected, () => (isSent = true));
        else isSent = true;
      });
      request.on('error', (error) => fail(error.message));
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          timer.refresh();
          length += chunk.length;
          chunks.push(chunk);
          const takenMs = performance.now() - startedAt;
          if (length > MAX_RESPONSE_BYTES) fail('the response is too long', 'too long');
          else if (takenMs > timeoutMs + length / MIN_BYTES_PER_MS) fail('it responds too slowly');
        });
        response.on('error', (error) => fail(error.message));
        response.on('close', () => fail('the connection ended within the response'));
        response.on('end', () => {
          clearTimeout(timer);
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ kind: 'answered', status: response.statusCode ?? 0, text });
        });
      });
      request.end(body);
    });
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
