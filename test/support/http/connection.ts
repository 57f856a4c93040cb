/** One connection to a service, kept open: one request at a time, and exactly what came back. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { parseAnswers, type RawAnswer } from './raw-http.ts';

/** The connection ended, or was never made, with only these bytes of an answer. */
export interface Cut {
  readonly status: 'cut';
  readonly received: string;
}

export type Outcome = RawAnswer | Cut;

export interface Connection {
  send(method: string, path: string, body?: string): Promise<Outcome>;
  /** Resolves when the first bytes of an answer come. */
  begun(): Promise<void>;
  /** Stops and goes on reading what comes. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Connects; undefined when the service takes no connection. Sends the key with each request. */
export function openConnection(port: number, key: string): Promise<Connection | undefined> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  let settle: ((outcome: Outcome) => void) | undefined;
  const end = (outcome: Outcome): void => {
    received = '';
    settle?.(outcome);
    settle = undefined;
  };
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    if (isWhole(received)) end(parseAnswers(received)[0]!);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => end({ status: 'cut', received }));
  const connection: Connection = {
    send(method, path, body) {
      return new Promise((resolve) => {
        settle = resolve;
        if (socket.destroyed) end({ status: 'cut', received });
        else socket.write(requestText(method, path, key, body));
      });
    },
    async begun() {
      if (received === '') await once(socket, 'data');
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => void socket.destroy(),
  };
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(connection));
    socket.once('close', () => resolve(undefined));
  });
}

function requestText(method: string, path: string, key: string, body?: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
  return body === undefined
    ? `${head}\r\n`
    : `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /\r\ncontent-length: ([0-9]+)\r\n/i.exec(text.slice(0, end + 2))?.[1] ?? '0';
  return text.length >= end + 4 + Number(length);
}
