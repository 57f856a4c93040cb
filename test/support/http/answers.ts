/** A strict reader of HTTP/1.1 answers (RFC 9112): whatever is not exactly right is an error. */

import assert from 'node:assert/strict';

export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** As latin1. Empty for 204, 100 and the answer to HEAD. */
  readonly body: string;
}

/**
 * Returns the answers in all that a connection brought, as latin1. With `mayBeHead` an answer whose
 * body is left out is taken for one to HEAD.
 */
export function parseAnswers(text: string, mayBeHead = false): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = text; rest !== '';) {
    const last = answers.at(-1);
    const shown = JSON.stringify(rest.slice(0, 300));
    assert.notEqual(last?.headers.get('connection'), 'close', `${shown} after the last answer`);
    const end = rest.indexOf('\r\n\r\n');
    assert.notEqual(end, -1, `No end of the header in ${shown}`);
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const match = /^HTTP\/1\.1 ([1-5][0-9]{2}) [A-Z][A-Za-z -]+$/.exec(statusLine);
    assert.ok(match !== null, `No status line in ${shown}`);
    const status = Number(match[1]);
    const headers = parseFields(lines);
    rest = rest.slice(end + 4);
    const isLeftOut = mayBeHead && (rest === '' || rest.startsWith('HTTP/1.1 '));
    const length = isLeftOut ? 0 : lengthOf(status, headers);
    assert.ok(rest.length >= length, `${rest.length} of ${length} bytes of a body`);
    answers.push({ status, headers, body: rest.slice(0, length) });
    rest = rest.slice(length);
  }
  return answers;
}

/** Returns the offset after the first `count` answers, or undefined if fewer have come whole. */
export function endOfAnswers(text: string, count: number): number | undefined {
  let start = 0;
  for (let left = count; left > 0; left -= 1) {
    const end = text.indexOf('\r\n\r\n', start);
    if (end === -1) return undefined;
    const length = /\r\ncontent-length: ([0-9]+)\r\n/i.exec(text.slice(start, end + 2))?.[1] ?? '0';
    start = end + 4 + Number(length);
    if (start > text.length) return undefined;
  }
  return start;
}

function parseFields(lines: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const match = /^([A-Za-z0-9-]+): ([\x21-\x7e](?:[ \x21-\x7e]*[\x21-\x7e])?|)$/.exec(line);
    assert.ok(match !== null, `No header field: ${JSON.stringify(line)}`);
    const name = match[1]!.toLowerCase();
    assert.ok(!fields.has(name), `${name} is sent twice`);
    fields.set(name, match[2]!);
  }
  return fields;
}

function lengthOf(status: number, headers: ReadonlyMap<string, string>): number {
  const length = headers.get('content-length');
  assert.equal(headers.get('transfer-encoding'), undefined);
  if (status === 204 || status < 200) {
    assert.equal(length, undefined, `A ${status} has no length`);
    return 0;
  }
  assert.match(length ?? '', /^[0-9]+$/);
  assert.ok(!Number.isNaN(Date.parse(headers.get('date') ?? '')), 'No Date');
  assert.match(headers.get('connection') ?? '', /^(?:close|keep-alive)$/);
  return Number(length);
}
