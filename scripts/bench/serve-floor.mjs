/**
 * The floors: node:http answering the same bytes to everything, without routing, keys or pets.
 *
 * `naive` is how one writes it first; `fastest` is the fastest way that was found: a flat list for
 * writeHead, a body that goes out in one write with the header, and no stream for an empty request.
 */

import { createServer } from 'node:http';

const { kind, body } = JSON.parse(process.argv[2]);
const length = String(Buffer.byteLength(body));
const latin1 = Buffer.from(body).toString('latin1');

const answers = {
  naive(_request, response) {
    response.statusCode = 200;
    response.setHeader('Content-Type', 'application/json');
    response.setHeader('Content-Length', length);
    response.end(body);
  },
  fastest(_request, response) {
    response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', length]);
    response.end(latin1, 'latin1');
  },
};

const options = kind === 'fastest' ? { optimizeEmptyRequests: true } : {};
const server = createServer(options, answers[kind]);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
