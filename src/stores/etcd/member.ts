/**
 * One member of the cluster: POST requests to its gateway, over connections that are kept alive.
 *
 * What matters most when a request fails is whether any of it can have arrived. It counts as sent
 * from the moment when it is handed to a connected socket, with TLS to one that is secured; a
 * kept-alive connection that turns out to be cut is therefore doubt, not "never sent".
 */

import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import type { EtcdOptions } from './etcd-options.ts';

export type MemberResponse =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  | { readonly kind: 'unsent' | 'cut' | 'too long'; readonly cause: string };

/** A longer answer is broken off: it would be a gigabyte before it is an array of commits. */
export const MAX_ANSWER_BYTES: number = 64 << 20;

/** An answer that comes more slowly is broken off: a byte now and then would take for ever. */
const MIN_BYTES_PER_MS = 64;

/** So long an idle connection is kept. */
const IDLE_MS = 60_000;

export interface MemberRequest {
  readonly path: string;
  /** ASCII only. */
  readonly body: string;
  readonly token?: string | undefined;
  /** From the call to the first of the answer; what follows has to come at MIN_BYTES_PER_MS. */
  readonly timeoutMs: number;
}

export class Member {
  /** As it was given: for messages. */
  readonly endpoint: string;
  readonly #url: URL;
  readonly #isSecure: boolean;
  readonly #agent: http.Agent;
  /** The sockets that are connected, and with TLS secured. */
  readonly #ready: WeakSet<object> = new WeakSet();

  constructor(endpoint: string, options: EtcdOptions) {
    this.endpoint = endpoint;
    this.#url = new URL(endpoint);
    this.#isSecure = this.#url.protocol === 'https:';
    const keeping = { keepAlive: true, timeout: IDLE_MS };
    this.#agent = this.#isSecure ? new https.Agent(keeping) : new http.Agent(keeping);
    this.#agent.createConnection = ((
      target: net.NetConnectOpts,
      done: (error: unknown) => void,
    ): net.Socket | undefined => {
      if (!this.#isSecure) return this.#watch(net.connect(target), 'connect');
      try {
        // Certificates are read for each connection, since they are renewed while the service runs.
        const secure = { ...target, ...readCertificates(options) };
        return this.#watch(tls.connect(secure), 'secureConnect');
      } catch (error) {
        // One that is half written, say: this request fails, and a later one reads it again.
        return void done(error);
      }
    }) as http.Agent['createConnection'];
  }

  /** Sends the request. It never rejects. */
  post({ path, body, token, timeoutMs }: MemberRequest): Promise<MemberResponse> {
    return new Promise((resolve) => {
      const headers: Record<string, string | number> = {
        'Content-Type': 'application/json',
        'Content-Length': body.length,
      };
      if (token !== undefined) headers['Authorization'] = token;
      const request = this.#request(path, headers);
      let isSent = false;
      const fail = (cause: string, kind: 'cut' | 'too long' = 'cut'): void => {
        clearTimeout(timer);
        // The first call counts.
        resolve({ kind: isSent ? kind : 'unsent', cause: `${this.endpoint}: ${cause}` });
        request.destroy();
      };
      const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
      const startedAt = performance.now();
      request.on('socket', (socket) => {
        if (this.#ready.has(socket)) isSent = true;
        else socket.once(this.#isSecure ? 'secureConnect' : 'connect', () => (isSent = true));
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
          if (length > MAX_ANSWER_BYTES) fail('the answer is too long', 'too long');
          else if (takenMs > timeoutMs + length / MIN_BYTES_PER_MS) fail('it answers too slowly');
        });
        response.on('error', (error) => fail(error.message));
        response.on('close', () => fail('the connection ended within the answer'));
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

  #request(path: string, headers: http.OutgoingHttpHeaders): http.ClientRequest {
    const module = this.#isSecure ? https : http;
    return module.request(this.#url, { path, method: 'POST', headers, agent: this.#agent });
  }

  #watch(socket: net.Socket, event: 'connect' | 'secureConnect'): net.Socket {
    socket.once(event, () => this.#ready.add(socket));
    return socket;
  }
}

/** Throws where a file cannot be read. */
export function readCertificates({
  caFile,
  certFile,
  keyFile,
}: EtcdOptions): tls.ConnectionOptions {
  return {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  };
}
