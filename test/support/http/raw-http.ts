/** Raw HTTP for tests: bytes over a socket, for what fetch cannot say. */

import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name; fields sent twice are joined with a comma. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Sends the bytes and resolves with all that came back when the server closes, or after `waitMs`.
 */
export function exchange(port: number, request: string | Buffer, waitMs = 2000): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(Buffer.concat(chunks).toString('latin1'));
    };
    const timer = setTimeout(finish, waitMs);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', finish);
    socket.on('error', (error) => (chunks.length > 0 ? finish() : reject(error)));
  });
}

/** The answers in what a connection brought, in order. HEAD and 204 answers have no body. */
export function parseAnswers(text: string, isHead = false): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`No end of the header in ${JSON.stringify(rest)}`);
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const match = /^HTTP\/1\.1 ([0-9]{3}) /.exec(statusLine);
    if (match === null) throw new Error(`No status line in ${JSON.stringify(rest)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value);
    }
    const status = Number(match[1]);
    const hasBody = !isHead && status !== 204 && status >= 200;
    const length = hasBody ? Number(headers.get('content-length') ?? 0) : 0;
    const start = end + 4;
    answers.push({ status, headers, body: rest.slice(start, start + length) });
    rest = rest.slice(start + length);
  }
  return answers;
}
