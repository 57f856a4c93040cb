/** The answers in the bytes that a connection brought, in their order (RFC 9112). */

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Throws where the bytes are not HTTP. The answer to a HEAD has no body, whatever its header. */
export function readAnswers(bytes: Buffer, isHead: boolean): readonly Answer[] {
  const answers: Answer[] = [];
  for (let rest = bytes.toString('latin1'); rest !== '';) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`No end of the header in ${JSON.stringify(rest)}`);
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const match = /^HTTP\/1\.[01] ([0-9]{3})(?: |$)/.exec(statusLine);
    if (match === null) throw new Error(`No status line in ${JSON.stringify(rest)}`);
    const status = Number(match[1]);
    const headers = new Headers(lines.map(readField));
    const hasBody = !isHead && status >= 200 && status !== 204 && status !== 304;
    const after = rest.slice(end + 4);
    const body = hasBody ? readBody(after, headers) : { text: '', length: 0 };
    answers.push({ status, headers, text: Buffer.from(body.text, 'latin1').toString() });
    rest = after.slice(body.length);
  }
  return answers;
}

interface Body {
  readonly text: string;
  /** With its chunks' frames. */
  readonly length: number;
}

function readField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function readBody(text: string, headers: Headers): Body {
  if (/\bchunked$/i.test(headers.get('Transfer-Encoding') ?? '')) return readChunks(text);
  const length = headers.get('Content-Length');
  const body = length === null ? text : text.slice(0, Number(length));
  return { text: body, length: body.length };
}

function readChunks(text: string): Body {
  let body = '';
  for (let start = 0; ;) {
    const lineEnd = text.indexOf('\r\n', start);
    const size = Number.parseInt(text.slice(start, lineEnd), 16);
    if (lineEnd === -1 || !(size >= 0)) throw new Error(`No chunk in ${JSON.stringify(text)}`);
    const chunk = lineEnd + 2;
    if (size === 0) return { text: body, length: text.indexOf('\r\n\r\n', lineEnd) + 4 };
    body += text.slice(chunk, chunk + size);
    start = chunk + size + 2;
  }
}
