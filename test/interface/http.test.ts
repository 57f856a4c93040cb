/** What holds for every request: paths, methods, credentials, media types and failures of HTTP. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { parseAnswers } from '../support/raw-http.ts';
import { fieldsOf, integerOf, type Answer, type Client } from './client.ts';
import { assertError, type Code } from './errors.ts';
import { openSubject } from './subject.ts';

const client = await openSubject();
const { key } = client;
const REX = '{"name":"Rex","categoryId":1}';
const CHUNKED = 'Transfer-Encoding: chunked';
const REX_LENGTH = `Content-Length: ${REX.length}`;
/** For tests where the service waits a second for the rest of a request. */
const SIDE_BY_SIDE = { concurrency: true };

/** Sends one request for a path as it stands, which fetch would tidy up first. */
async function getRaw(path: string, to: Client = client): Promise<Answer> {
  const answers = await to.exchange(to.message(`GET ${path}`));
  assert.equal(answers.length, 1);
  return answers[0]!;
}

describe('Under /v1 authentication comes first', SIDE_BY_SIDE, () => {
  const requests: readonly [line: string, fields: readonly string[], body: string][] = [
    ['GET /v1/pets', [], ''],
    ['GET /v1', [], ''],
    ['GET /v1/', [], ''],
    ['GET /v1/nothing', [], ''],
    ['GET /v1/pets/', [], ''],
    ['GET /v1/pets/%zz', [], ''],
    ['GET /v%31/nothing', [], ''],
    ['GET /v1/pets?limit=0', [], ''],
    ['GET /v1/pets?a=%zz', [], ''],
    ['GET http://host/v1/pets', [], ''],
    ['HEAD /v1/pets', [], ''],
    ['OPTIONS /v1/pets', [], ''],
    ['DELETE /v1/pets', [], ''],
    ['POST /v1/pets', ['Content-Length: 1'], '{'],
    ['POST /v1/pets', ['Content-Length: 3000000'], '{'],
    ['POST /v1/pets', [CHUNKED], '1\r\n{\r\n0\r\n\r\n'],
    ['POST /v1/pets', ['Content-Type: text/plain', REX_LENGTH], REX],
    ['POST /v1/pets', ['Content-Encoding: gzip', REX_LENGTH], REX],
    ['POST /v1/pets', ['Expect: 100-continue', REX_LENGTH], ''],
    ['POST /v1/pets', ['Expect: a-miracle', REX_LENGTH], REX],
  ];
  for (const [line, fields, body] of requests) {
    test(`Without a valid key it is 401: ${[line, ...fields].join(', ')}`, async () => {
      const bytes = client.message(line, fields, body);
      const credentials = ['', 'Authorization: Bearer wrong\r\n'].map(async (credential) => {
        const without = bytes.replace(`Authorization: Bearer ${key}\r\n`, credential);
        const answers = await client.exchange(without);
        assert.deepEqual(
          answers.map(({ status }) => status),
          [401],
        );
        if (!line.startsWith('HEAD')) assertError(answers[0], 'unauthorized');
      });
      await Promise.all(credentials);
    });
  }

  test('Outside /v1 an unknown path is 404 without a key', async () => {
    for (const path of ['/', '/nothing', '/v2/pets', '/V1/pets', '//v1/pets', '/v1%2Fpets']) {
      const bytes = client.message(`GET ${path}`).replace(/Authorization.*\r\n/, '');
      assertError((await client.exchange(bytes))[0], 'unknown_path');
    }
  });
});

describe('401 carries WWW-Authenticate: Bearer', () => {
  /** The answer to a list request with these Authorization lines. */
  async function answerTo(...credentials: readonly string[]): Promise<Answer> {
    const lines = credentials.map((credential) => `${credential}\r\n`).join('');
    const bytes = client.message('GET /v1/pets').replace(/Authorization.*\r\n/, lines);
    return (await client.exchange(bytes))[0]!;
  }

  test('without error="invalid_token" when no credential was sent', async () => {
    const answer = await answerTo();
    assertError(answer, 'unauthorized');
    assert.equal(answer.headers.get('WWW-Authenticate'), 'Bearer realm="petstore"');
  });

  for (const credential of ['Bearer wrong', 'Basic OnB3', 'Bearer']) {
    test(`with error="invalid_token" when one was sent: ${credential}`, async () => {
      const answer = await answerTo(`Authorization: ${credential}`);
      assertError(answer, 'unauthorized');
      const challenge = 'Bearer realm="petstore", error="invalid_token"';
      assert.equal(answer.headers.get('WWW-Authenticate'), challenge);
    });
  }

  for (const line of [
    `Authorization: bearer ${key}`,
    `Authorization: BEARER ${key}`,
    `authorization:bEaReR ${key}`,
    `Authorization: Bearer   ${key}`,
    `AUTHORIZATION:  Bearer ${key}  `,
  ]) {
    test(`The scheme's name is case-insensitive: '${line}'`, async () => {
      assert.equal((await answerTo(line)).status, 200);
    });
  }

  const good = `Authorization: Bearer ${key}`;
  for (const [what, lines] of [
    ['the good one twice', [good, good]],
    ['a wrong one first', ['Authorization: Bearer wrong', good]],
    ['a wrong one last', [good, 'Authorization: Bearer wrong']],
    ['an empty one beside it', [good, 'Authorization:']],
    ['one in other letters', [good, `authorization: Bearer ${key}`]],
  ] as const) {
    test(`Exactly one Authorization line counts: ${what}`, async () => {
      const answer = await answerTo(...lines);
      assertError(answer, 'unauthorized');
      assert.match(answer.headers.get('WWW-Authenticate') ?? '', /^Bearer .*invalid_token/);
    });
  }
});

describe('Unknown paths and other methods', () => {
  for (const path of ['/v1', '/v1/', '/v1/pet', '/v1/pets/1/2', '/v1/pets.json', '/', '/x']) {
    test(`Unknown path: 404, ${path}`, async () => {
      assertError(await getRaw(path), 'unknown_path');
    });
  }

  const ALLOW: readonly [path: string, allow: string][] = [
    ['/v1/pets', 'GET, HEAD, OPTIONS, POST'],
    ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['/v1/pets/no-id', 'GET, HEAD, OPTIONS'],
    ['/livez', 'GET, HEAD, OPTIONS'],
    ['/readyz', 'GET, HEAD, OPTIONS'],
    ['/openapi.json', 'GET, HEAD, OPTIONS'],
    ['/metrics', 'GET, HEAD, OPTIONS'],
  ];
  const allowOf = ({ headers }: Answer): string =>
    (headers.get('Allow') ?? '').split(', ').sort().join(', ');

  for (const [path, allow] of ALLOW) {
    test(`Known path with another method: 405 with Allow, ${path}`, async () => {
      const methods = ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'M-SEARCH'];
      for (const method of path === '/v1/pets' ? methods : [...methods, 'POST']) {
        const [answer] = await client.exchange(client.message(`${method} ${path}`));
        assert.ok(assertError(answer, 'method_not_allowed').includes(method));
        assert.equal(allowOf(answer!), allow);
      }
    });

    test(`OPTIONS is 204 with Allow: ${path}`, async () => {
      const answer = await client.sendToOrigin('OPTIONS', path);
      assert.equal(answer.status, 204);
      assert.equal(answer.text, '');
      assert.equal(allowOf(answer), allow);
      assert.equal(answer.headers.get('Content-Length'), null);
    });
  }

  test('OPTIONS of an unknown path is 404, and of * is 204', async () => {
    assertError((await client.exchange(client.message('OPTIONS /v1/nothing')))[0], 'unknown_path');
    const [answer] = await client.exchange(client.message('OPTIONS *'));
    assert.equal(answer?.status, 204);
    assert.equal(allowOf(answer!), 'GET, HEAD, OPTIONS, POST');
  });

  test('A method is a case-sensitive word, and an unknown one is malformed', async () => {
    for (const method of ['get', 'Post', 'BREW']) {
      const [answer] = await client.exchange(client.message(`${method} /v1/pets`));
      assertError(answer, 'malformed_request');
    }
  });

  for (const path of ['/v1/pets', '/v1/pets?limit=1', '/livez', '/readyz', '/openapi.json']) {
    test(`HEAD wherever GET is: ${path} has the same header, and no body`, async () => {
      const [get] = await client.exchange(client.message(`GET ${path}`));
      const [head, ...rest] = await client.exchange(client.message(`HEAD ${path}`));
      assert.deepEqual(rest, []);
      assert.equal(head?.status, 200);
      for (const field of ['Content-Type', 'Content-Length', 'Link']) {
        assert.equal(head.headers.get(field), get?.headers.get(field));
      }
    });
  }

  test('HEAD of a pet, and of one that cannot be found', async () => {
    const { id, answer } = await client.add(REX);
    const found = await client.send('HEAD', `/pets/${id}`);
    assert.equal(found.status, 200);
    assert.equal(found.text, '');
    assert.equal(found.headers.get('Content-Length'), String(answer.text.length));
    const lost = await client.send('HEAD', '/pets/0');
    assert.equal(lost.status, 404);
    assert.equal(lost.headers.get('Content-Type'), 'application/json');
    assert.notEqual(lost.headers.get('Content-Length'), '0');
  });
});

describe('Paths match exactly', () => {
  const odd = ['/v1/pets/', '//v1/pets', '/v1//pets', '/V1/pets', '/v1/Pets', '/v1/pets//'];
  const dots = ['/v1/./pets', '/v1/../v1/pets', '/x/../v1/pets', '/v1/pets/../pets', '/v1/pets/1/'];
  const encoded = ['/v1%2fpets', '/v1%2Fpets', '/v1/pets%20', '/v1/%2570ets', '/v1/pets%3Flimit=1'];
  for (const path of [...odd, ...dots, ...encoded, '/v1/pets;a=b', '/v1\\pets', '/v1/pets%00']) {
    test(`404: ${path}`, async () => {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const [answer] = await client.exchange(client.message(`${method} ${path}`));
        assertError(answer, 'unknown_path');
      }
    });
  }

  for (const path of ['/v1/p%65ts', '/%76%31/%70%65%74%73', '/v1/pets?', 'http://h/v1/pets']) {
    test(`A path segment is percent-decoded: ${path} is /v1/pets`, async () => {
      const answer = await getRaw(path);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.text, (await client.get('/pets')).text);
    });
  }

  test('/v1/pets/%31 is pet 1, in hex digits of either case', async () => {
    const { id, answer } = await client.add(REX);
    const digits = [...String(id)].map((digit) => `%3${digit}`).join('');
    assert.equal((await getRaw(`/v1/pets/${digits}`)).text, answer.text);
    assertError(await getRaw('/v1/pets/%C3%A9'), 'not_found');
    assertError(await getRaw('/v1/pets/%c3%a9'), 'not_found');
  });

  test('It is decoded once: %2531 is %31 and no id, %2F is no separator', async () => {
    assertError(await getRaw('/v1/pets/%2531'), 'not_found');
    assertError(await getRaw('/v1/pets/1%2F2'), 'not_found');
  });

  const broken = ['%', '%zz', '%3', '%3g', '%C3', '%FF', '%C0%80', '%ED%A0%80', '1%', '%u0031'];
  for (const text of broken) {
    test(`Broken encoding is 400 in a path: /v1/pets/${text}`, async () => {
      for (const path of [`/v1/pets/${text}`, `/v1/${text}`, `/${text}`, `/v1/pets/1/${text}`]) {
        assert.match(assertError(await getRaw(path), 'malformed_request'), /path/);
      }
    });

    test(`Broken encoding is 400 in a query: ${text}`, async () => {
      for (const path of ['/v1/pets', '/v1/pets/1', '/livez']) {
        for (const query of [`${text}`, `a=${text}`, `limit=1&a=b&${text}=c`]) {
          const answer = await getRaw(`${path}?${query}`);
          assert.match(assertError(answer, 'malformed_request'), /query/);
        }
      }
      const bytes = client.message(`POST /v1/pets?a=${text}`, [REX_LENGTH], REX);
      assertError((await client.exchange(bytes))[0], 'malformed_request');
    });
  }
});

describe('Media types', () => {
  const accepted = ['application/json', 'Application/JSON', 'application/json; charset=utf-8'];
  const parameters = ['application/json;charset=UTF-8', 'application/json ; a="b"'];
  for (const type of [...accepted, ...parameters]) {
    test(`POST takes Content-Type: ${type}`, async () => {
      await client.add(REX);
      assert.equal((await client.post(REX, { 'Content-Type': type })).status, 201);
    });
  }

  const others = ['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'json', '*/*'];
  const near = ['application/jsonx', 'application/json x', 'xapplication/json', 'application'];
  for (const type of [...others, ...near, 'application/ld+json', 'application/json, text/json']) {
    test(`POST with another Content-Type is 415: ${type}`, async () => {
      const answer = await client.post(REX, { 'Content-Type': type });
      assert.ok(assertError(answer, 'unsupported_media_type').includes(type));
      assert.equal(answer.headers.get('Accept'), 'application/json');
    });
  }

  test('An empty Content-Type, or two of them, is 415', async () => {
    const json = 'Content-Type: application/json';
    for (const fields of [['Content-Type:'], [json, json], [json, 'Content-Type: text/plain']]) {
      const bytes = client.message('POST /v1/pets', [...fields, REX_LENGTH], REX);
      assertError((await client.exchange(bytes))[0], 'unsupported_media_type');
    }
  });

  test('An absent Content-Type is taken as JSON', async () => {
    const [answer] = await client.exchange(client.message('POST /v1/pets', [REX_LENGTH], REX));
    assert.equal(answer?.status, 201);
  });

  for (const coding of ['gzip', 'deflate', 'br', 'identity', '']) {
    test(`Any Content-Encoding is 415: '${coding}'`, async () => {
      const fields = [`Content-Encoding: ${coding}`, 'Content-Type: application/json', REX_LENGTH];
      const [answer] = await client.exchange(client.message('POST /v1/pets', fields, REX));
      assertError(answer, 'unsupported_media_type');
    });
  }

  test('Accept is not looked at: there is one form only', async () => {
    const answer = await client.send('GET', '/pets?limit=1', { Accept: 'text/html' });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('Content-Type'), 'application/json');
  });
});

describe('Header fields of answers', () => {
  test('201 carries Location, which leads to the pet', async () => {
    const { id, answer } = await client.add(REX);
    assert.equal(answer.headers.get('Location'), `/v1/pets/${id}`);
    const found = await client.sendToOrigin('GET', answer.headers.get('Location')!);
    assert.equal(found.text, answer.text);
  });

  test('JSON answers are Content-Type: application/json with Content-Length in bytes', async () => {
    const { id, answer } = await client.add('{"name":"😀","categoryId":1}');
    for (const { headers, text } of [
      answer,
      await client.get(`/pets/${id}`),
      await client.listFrom(id),
      await client.sendToOrigin('GET', '/livez'),
      await client.sendToOrigin('GET', '/openapi.json'),
    ]) {
      assert.equal(headers.get('Content-Type'), 'application/json');
      assert.equal(headers.get('Content-Length'), String(Buffer.byteLength(text)));
    }
  });
});

describe('Every failure is an Error body', SIDE_BY_SIDE, () => {
  const auth = `Authorization: Bearer ${key}`;
  const malformed: readonly [what: string, bytes: string][] = [
    ['no request line', 'nonsense\r\n\r\n'],
    ['a version that is none', `GET /v1/pets HTTP/x\r\nHost: h\r\n\r\n`],
    ['HTTP/1.2', `GET /v1/pets HTTP/1.2\r\nHost: h\r\n${auth}\r\n\r\n`],
    ['a target with a space', `GET /v1/pe ts HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['a target without a slash', client.message('GET v1/pets')],
    ['the target * for GET', client.message('GET *')],
    ['a target of another scheme', client.message('GET ftp://h/v1/pets')],
    ['no Host', client.message('GET /v1/pets').replace(/Host.*\r\n/, '')],
    ['two Hosts', client.message('GET /v1/pets', ['Host: h'])],
    ['an empty Host', client.message('GET /v1/pets').replace(/Host.*\r\n/, 'Host:\r\n')],
    ['a Host with a path', client.message('GET /v1/pets').replace(/Host.*\r\n/, 'Host: h/x\r\n')],
    ['a Host with a user', client.message('GET /v1/pets').replace(/Host.*\r\n/, 'Host: u@h\r\n')],
    ['a Host list', client.message('GET /v1/pets').replace(/Host.*\r\n/, 'Host: a, b\r\n')],
    ['a field without a colon', client.message('GET /v1/pets', ['nonsense'])],
    ['a space before the colon', client.message('GET /v1/pets', ['X : y'])],
    ['a folded field', client.message('GET /v1/pets', ['X: a\r\n b'])],
    ['NUL in a field', client.message('GET /v1/pets', ['X: \0'])],
    ['a bare LF', client.message('GET /v1/pets').replaceAll('\r\n', '\n')],
    ['a Content-Length that is none', client.message('POST /v1/pets', ['Content-Length: x'])],
    ['a negative Content-Length', client.message('POST /v1/pets', ['Content-Length: -1'])],
    ['two lengths', client.message('POST /v1/pets', [REX_LENGTH, 'Content-Length: 5'], REX)],
    [
      'Content-Length beside Transfer-Encoding',
      client.message('POST /v1/pets', [REX_LENGTH, CHUNKED], REX),
    ],
    ['a chunk size that is none', client.message('POST /v1/pets', [CHUNKED], 'x\r\n')],
    [
      'Transfer-Encoding in HTTP/1.0',
      client.message('POST /v1/pets', [CHUNKED], '0\r\n\r\n').replace('/1.1', '/1.0'),
    ],
  ];
  for (const [what, bytes] of malformed) {
    test(`malformed request 400: ${what}`, async () => {
      const answers = await client.exchange(bytes);
      assert.equal(answers.length, 1);
      assertError(answers[0], 'malformed_request');
    });
  }

  // More than the thousand that node:http keeps by default, within the limit of 16 KiB.
  const MANY_FIELDS = Array.from({ length: 2000 }, () => 'X-A: y');
  const large: readonly [what: string, bytes: string][] = [
    ['one long field', client.message('GET /v1/pets', [`X: ${'x'.repeat(17_000)}`])],
    ['many fields', client.message('GET /v1/pets', Array(6000).fill('X-A: y'))],
    ['a long target', client.message(`GET /v1/pets?${'x'.repeat(17_000)}`)],
  ];
  for (const [what, bytes] of large) {
    test(`header too large 431: ${what}`, async () => {
      const answers = await client.exchange(bytes);
      assert.equal(answers.length, 1);
      assertError(answers[0], 'headers_too_large');
    });
  }

  const TRANSFER = 'unsupported_transfer_coding';
  const refused: readonly [what: string, code: Code, line: string, field: string][] = [
    ['bad Expect 417', 'expectation_failed', 'GET /v1/pets', 'Expect: a-miracle'],
    ['bad Expect 417, of a POST', 'expectation_failed', 'POST /v1/pets', 'Expect: 200-ok'],
    ['two Expects 417', 'expectation_failed', 'POST /v1/pets', 'Expect: 100-continue, x'],
    ['transfer coding 501: gzip', TRANSFER, 'POST /v1/pets', 'Transfer-Encoding: gzip'],
    ['transfer coding 501: two', TRANSFER, 'POST /v1/pets', 'Transfer-Encoding: gzip, chunked'],
    ['transfer coding 501: identity', TRANSFER, 'POST /v1/pets', 'Transfer-Encoding: identity'],
    ['transfer coding 501: of a GET', TRANSFER, 'GET /v1/pets', 'Transfer-Encoding: x'],
  ];
  for (const [what, code, line, field] of refused) {
    test(what, async () => {
      const answers = await client.exchange(client.message(line, [field]));
      assertError(answers[0], code);
      assert.equal(answers.length, 1);
    });
  }

  for (const version of [' HTTP/2.0', ' HTTP/0.9', '']) {
    test(`another version of HTTP 505: '${version}'`, async () => {
      const bytes = client.message('GET /v1/pets').replace(' HTTP/1.1', version);
      assertError((await client.exchange(bytes))[0], 'unsupported_http_version');
    });
  }

  test('CONNECT 405', async () => {
    const bytes = client.message('CONNECT h:443');
    const [answer] = await client.exchange(bytes);
    assertError(answer, 'method_not_allowed');
    assert.equal(answer?.headers.get('Allow'), '');
  });

  test('A field past the thousandth counts as any other', async () => {
    const cases: readonly [field: string, code: Code][] = [
      ['Host: h', 'malformed_request'],
      [auth, 'unauthorized'],
      ['Expect: a-miracle', 'expectation_failed'],
      ['Content-Encoding: gzip', 'unsupported_media_type'],
    ];
    for (const [field, code] of cases) {
      const fields = [REX_LENGTH, ...MANY_FIELDS, field];
      assertError((await client.exchange(client.message('POST /v1/pets', fields, REX)))[0], code);
    }
  });

  test('An early answer to a request whose body turns out malformed is sent', async () => {
    const bytes = client.message('POST /v1/pets', [CHUNKED], 'no size\r\n');
    const answers = await client.exchange(bytes.replace(key, 'wrong'));
    assert.equal(answers.length, 1);
    assertError(answers[0], 'unauthorized');
  });

  test('A failure that HTTP itself finds closes the connection', async () => {
    const good = client.message('GET /v1/pets?limit=1').replace('close', 'keep-alive');
    const answers = await client.exchange(`${good}nonsense\r\n\r\n${good}`);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 400],
    );
    assertError(answers[1], 'malformed_request');
    assert.equal(answers[1]?.headers.get('Connection'), 'close');
  });
});

describe('What is no failure', () => {
  for (const host of ['h', 'h:1', 'example.com:', '127.0.0.1:8080', '[::1]:8080', 'a-b_c.d']) {
    test(`Host: ${host}`, async () => {
      const bytes = client.message('GET /v1/pets').replace(/Host.*\r\n/, `Host: ${host}\r\n`);
      assert.equal((await client.exchange(bytes))[0]?.status, 200);
    });
  }

  test('HTTP/1.0, without a Host', async () => {
    const bytes = `GET /v1/pets HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    assert.equal((await client.exchange(bytes))[0]?.status, 200);
  });

  test('Pipelined requests are answered in their order', async () => {
    const { id } = await client.add(REX);
    const open = (line: string, fields: string[] = [], body = ''): string =>
      client.message(line, fields, body).replace('Connection: close', 'Connection: keep-alive');
    const answers = await client.exchange(
      open('POST /v1/pets', [REX_LENGTH], REX) +
        open(`GET /v1/pets/${id}`) +
        open('GET /v1/pets/0') +
        open('POST /v1/pets', ['Content-Length: 2'], '{}') +
        open(`GET /v1/pets/${id + 1n}`) +
        client.message('GET /livez'),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 200, 404, 400, 200, 200],
    );
    assert.equal(integerOf(answers[0]!.text, 'id'), id + 1n);
    assert.equal(answers[4]?.text, answers[0]?.text);
  });

  test('A request to upgrade is answered as if it were none', async () => {
    const bytes = client
      .message('GET /v1/pets?limit=1', ['Upgrade: h2c'])
      .replace('Connection: close', 'Connection: Upgrade, close');
    assert.equal((await client.exchange(bytes))[0]?.status, 200);
  });

  test('A chunked body, with extensions and a trailer', async () => {
    const size = REX.length - 5;
    const chunks = `5;a=b\r\n${REX.slice(0, 5)}\r\n${size.toString(16)}\r\n${REX.slice(5)}\r\n`;
    const body = `${chunks}0\r\nX-Trailer: 1\r\n\r\n`;
    const bytes = client.message('POST /v1/pets', [CHUNKED], body);
    assert.equal((await client.exchange(bytes))[0]?.status, 201);
  });
});

describe('Expect: 100-continue', () => {
  const expecting = (length: number): string =>
    client.message('POST /v1/pets', ['Expect: 100-Continue', `Content-Length: ${length}`]);

  test('100 comes before the body is sent, and the answer after it', async () => {
    const socket = connect(Number(new URL(client.baseUrl).port), '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(expecting(REX.length));
    await once(socket, 'data');
    assert.equal(Buffer.concat(chunks).toString(), 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(REX);
    await once(socket, 'close');
    const answers = parseAnswers(Buffer.concat(chunks).toString());
    assert.deepEqual(
      answers.map(({ status }) => status),
      [100, 201],
    );
  });

  test('What is refused by its header is refused without a 100', async () => {
    const MEDIA_TYPE = 'unsupported_media_type';
    const requests: readonly [bytes: string, code: Code][] = [
      [expecting(REX.length).replace(key, 'wrong'), 'unauthorized'],
      [expecting(65_537), 'body_too_large'],
      [expecting(5).replace('/v1/pets', '/v1/nothing'), 'unknown_path'],
      [expecting(5).replace('POST', 'PUT'), 'method_not_allowed'],
      [expecting(5).replace('Connection:', 'Content-Encoding: br\r\nConnection:'), MEDIA_TYPE],
    ];
    const refusals = requests.map(async ([bytes, code]) => {
      const answers = await client.exchange(bytes);
      assert.equal(answers.length, 1);
      assertError(answers[0], code);
      assert.equal(answers[0]?.headers.get('Connection'), 'close');
    });
    await Promise.all(refusals);
  });
});

describe('Outside /v1', () => {
  for (const path of ['/livez', '/readyz', '/openapi.json']) {
    test(`GET ${path} is 200 without a key`, async () => {
      const answer = await client.sendToOrigin('GET', path, { Authorization: '' });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('Content-Type'), 'application/json');
      assert.equal(typeof fieldsOf(answer), 'object');
    });
  }

  test('GET /metrics needs a key', async () => {
    const without = await client.sendToOrigin('GET', '/metrics', { Authorization: '' });
    assertError(without, 'unauthorized');
    assert.match(without.headers.get('WWW-Authenticate') ?? '', /^Bearer /);
  });

  test('GET /metrics with a key is the text of Prometheus', async () => {
    const answer = await client.sendToOrigin('GET', '/metrics');
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('Content-Type') ?? '', /^text\/plain; version=0\.0\.4/);
    for (const line of answer.text.trimEnd().split('\n')) {
      assert.match(line, /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[^{}]*\})? [0-9.e+]+)$/);
    }
    assert.match(answer.text, /^petstore_pets\{/m);
  });
});
