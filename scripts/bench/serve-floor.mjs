/**
 * The floors: node:http answering the same bytes to everything, without routing, keys or pets.
 *
 * `naive` is how one writes it first; `fastest` is the fastest way that was found: a flat list for
 * writeHead, the body as a string of bytes, and no stream for an empty request.
 */

import { createServer } from 'node:http';

const { kind, headers, body } = JSON.parse(process.argv[2]);
const bytes = Buffer.from(body).toString('latin1');

const answers = {
  naive(_request, response) {
    response.statusCode = 200;
    for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i], headers[i + 1]);
    response.end(body);
  },
  fastest(_request, response) {
    response.writeHead(200, headers);
    response.end(bytes, 'latin1');
  },
};

const options = kind === 'fastest' ? { optimizeEmptyRequests: true } : {};
const server = createServer(options, answers[kind]);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
