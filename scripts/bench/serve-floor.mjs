/**
 * A floor as a server: those of a read (floors.mjs), or `append`, the naive floor of a create. That
 * one appends each body to a file and syncs it before it answers, one after the other.
 */

import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { floorListener } from './floors.mjs';

const { kind, fields, body, path } = JSON.parse(process.argv[2]);
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
const listener = kind === 'append' ? appendListener : floorListener(kind, fields, body);
const server = createServer(options, listener);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
