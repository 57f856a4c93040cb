/**
 * The floors: bare node:http, without routing, keys, pets or checks.
 *
 * Two answer the same bytes to everything. `naive` is how one writes it first; `fastest` is the
 * fastest way that was found: a flat list for writeHead, the body as a string of bytes, and no
 * stream for an empty request. `append` is the naive floor of a create: it appends each body to a
 * file and syncs it before it answers, one after the other.
 */

import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const { kind, fields, body, path } = JSON.parse(process.argv[2]);
const bytes = body === undefined ? undefined : Buffer.from(body).toString('latin1');

const listeners = {
  naive(_request, response) {
    response.statusCode = 200;
    for (let i = 0; i < fields.length; i += 2) response.setHeader(fields[i], fields[i + 1]);
    response.end(body);
  },
  fastest(_request, response) {
    response.writeHead(200, fields);
    response.end(bytes, 'latin1');
  },
  append: appendListener,
};

const file = kind === 'append' ? openSync(path, 'a') : undefined;
let lastId = 0;

function appendListener(request, response) {
  let newPet = '';
  request.setEncoding('utf8');
  request.on('data', (chunk) => (newPet += chunk));
  request.on('end', () => {
    lastId += 1;
    const pet = `{"id":${lastId},${newPet.slice(1)}`;
    writeSync(file, `${pet}\n`);
    fdatasyncSync(file);
    response.statusCode = 201;
    response.setHeader('Content-Type', 'application/json');
    response.setHeader('Content-Length', Buffer.byteLength(pet));
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('Location', `/v1/pets/${lastId}`);
    response.end(pet);
  });
}

const options = { keepAliveTimeout: 65_000, optimizeEmptyRequests: kind === 'fastest' };
const server = createServer(options, listeners[kind]);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
