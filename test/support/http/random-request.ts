/** Generated requests: most are good, and each part of any may be odd, wrong or broken. */

import { randomNewPet, randomPetText } from '../pets/random-pet.ts';
import { mutate, randomText, type Random } from '../random.ts';

/** Up to five requests for one connection, and how many they are. */
export function randomConversation(random: Random, key: string): { bytes: Buffer; count: number } {
  const count = 1 + random.below(5);
  const requests = Array.from({ length: count }, () => randomRequest(random, key));
  const bytes = Buffer.concat(requests);
  return { bytes: random.oneIn(4) ? mutate(random, bytes) : bytes, count };
}

function randomRequest(random: Random, key: string): Buffer {
  const body = random.oneIn(3) ? Buffer.alloc(0) : randomBody(random);
  const method = body.length > 0 && !random.oneIn(5) ? 'POST' : random.pick(METHODS);
  const path = method === 'POST' && !random.oneIn(8) ? '/v1/pets' : randomPath(random);
  const version = random.oneIn(30) ? random.pick(VERSIONS) : ' HTTP/1.1';
  const lines = [`${method} ${path}${version}`, ...randomFields(random, key)];
  const { fields, bytes } = frame(random, body);
  const header = [...lines, ...fields].map((line) => `${line}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${header}\r\n`, 'latin1'), bytes]);
}

const METHODS = [
  ...['GET', 'GET', 'GET', 'GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE'],
  ...['CONNECT', 'get', 'G\tET', 'QUERY'],
];
const VERSIONS = ['', ' HTTP/1.0', ' HTTP/0.9', ' HTTP/2.0', ' HTTP/1.2', ' HTTP/1.1 ', ' HTTP/'];
const PATHS = [
  ...['/v1/pets', '/v1/pets', '/v1/pets', '/v1/pets/1', '/v1/pets/%31', '/v1/pets/x', '/v1/pets/'],
  ...['/v1', '/', '/livez', '/readyz', '/openapi.json', '/metrics', '*', 'http://a/v1/pets', '//'],
  ...['/v1/pets/9223372036854775808', '/v1/pets/%', '/v1/pets/%ff', 'a:80', '/../v1/pets', '/\\'],
];
const QUERIES = [
  ...['limit=5', 'limit=0', 'limit=', 'limit=1&limit=2', 'limit=%31', 'limit=1e1', 'limit=-1'],
  ...['status=sold', 'status=SOLD', 'status=', 'after=1', 'after=x', 'after=-9223372036854775808'],
  ...['a=%zz', '%', '&&&', '=', '?', 'a=b;c', 'limit=20&status=pending&after=3', '%C3%A9=%00'],
];

function randomPath(random: Random): string {
  const text = plain(randomText(random, 8));
  const path = random.oneIn(12) ? `/${encodeURI(text)}` : random.pick(PATHS);
  return random.oneIn(3) ? `${path}?${random.pick(QUERIES)}` : path;
}

function randomFields(random: Random, key: string): readonly string[] {
  const fields = [
    random.oneIn(25) ? random.pick(HOSTS) : 'Host: a',
    random.oneIn(12) ? random.pick(CREDENTIALS) : `Authorization: Bearer ${key}`,
    random.oneIn(3) ? '' : 'Content-Type: application/json',
  ];
  while (random.oneIn(4)) fields.push(random.pick(ODD_FIELDS));
  if (random.oneIn(10)) fields.push(`X-Text: ${plain(randomText(random, 20))}`);
  if (random.oneIn(200)) fields.push(`X-Long: ${'x'.repeat(17_000)}`);
  return fields.filter((field) => field !== '');
}

const HOSTS = ['', 'Host:', 'Host: a, b', 'Host: u@a', 'Host: a\r\nHost: a', 'host: [::1]:80'];
const CREDENTIALS = ['', 'Authorization: Bearer x', 'Authorization: Basic eA==', 'Authorization:'];
const ODD_FIELDS = [
  ...['Connection: close', 'Connection: keep-alive', 'Connection: x', 'Content-Type: text/plain'],
  ...['Content-Encoding: gzip', 'Expect: 100-continue', 'Expect: x', 'Transfer-Encoding: gzip'],
  ...['Upgrade: h2c\r\nConnection: Upgrade', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
  ...['Accept: */*', 'X: \ty', 'X:y', 'X : y', ' X: y', ': y', 'X', 'Authorization: Bearer y'],
];

/** Characters that are one byte each and end no line; the rest is for `mutate` to bring in. */
function plain(text: string): string {
  return text.replace(/[^ -~\xa0-\xff]/g, '');
}

function randomBody(random: Random): Buffer {
  if (random.oneIn(10)) return Buffer.from(random.pick(BODIES), 'latin1');
  if (random.oneIn(25)) return Buffer.alloc(2049 + random.below(100_000), ' ');
  const body = Buffer.from(randomPetText(random, randomNewPet(random), { withKeysTwice: true }));
  return random.oneIn(4) ? mutate(random, body) : body;
}

const BODIES = [
  ...['{}', '[]', 'null', '"', '{"name":1,"categoryId":"1"}', '\xef\xbb\xbf{}', '\xff', ' \n'],
  ...['{"name":"a","categoryId":1.5}', '{"name":"a","categoryId":1e400}', '['.repeat(2000)],
];

/** The body with the fields that say how long it is. */
function frame(random: Random, body: Buffer): { fields: readonly string[]; bytes: Buffer } {
  if (body.length === 0) return { fields: [], bytes: body };
  if (random.oneIn(40)) return { fields: [], bytes: body };
  if (!random.oneIn(3)) {
    const length = random.oneIn(40) ? body.length + random.pick([-1, 1, 10]) : body.length;
    return { fields: [`Content-Length: ${length}`], bytes: body };
  }
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const chunk = body.subarray(at, at + 1 + random.below(body.length - at));
    const size = chunk.length.toString(16) + (random.oneIn(8) ? ';a="b"' : '');
    chunks.push(Buffer.from(`${size}\r\n`), chunk, Buffer.from('\r\n'));
    at += chunk.length;
  }
  chunks.push(Buffer.from(random.oneIn(8) ? '0\r\nX-Trailer: 1\r\n\r\n' : '0\r\n\r\n'));
  return { fields: ['Transfer-Encoding: chunked'], bytes: Buffer.concat(chunks) };
}
