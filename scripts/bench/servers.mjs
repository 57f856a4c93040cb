/**
 * The servers that are compared, by their kind. As a program, it starts the one that its options
 * name, and prints its port and how long it took to open.
 *
 * The floors of a read are bare node:http that sends the same bytes with the same header fields for
 * every request, without routing, API key, pets or checks: `naive` is how one writes it first, and
 * `fastest` has the fastest means that were found.
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMain } from '../build.mjs';

const KEEP_ALIVE = { keepAliveTimeout: 65_000 };
const importService = (dist) => import(pathToFileURL(join(dist, 'index.js')).href);

export const SERVERS = {
  /** The service from a build, with its pets on a data file, in a new log on etcd, or in memory. */
  async service({ dist, path: dataFile, etcd, memory }) {
    const { createHttpServer, initEtcd, openApp } = await importService(dist);
    if (etcd !== undefined) await initEtcd(etcd);
    const stored = dataFile ? { dataFile } : etcd ? { etcd } : { memory };
    const app = await openApp({ ...stored, apiKeys: ['bench'] });
    return createHttpServer(app.listener);
  },

  naive({ answer }) {
    const { fields, body } = readAnswer(answer);
    return createServer(KEEP_ALIVE, (_request, response) => {
      response.statusCode = 200;
      for (let i = 0; i < fields.length; i += 2) response.setHeader(fields[i], fields[i + 1]);
      response.end(body);
    });
  },

  /** A flat list for writeHead, and the body as a string of bytes. */
  fastest({ answer }) {
    const { fields, body } = readAnswer(answer);
    const bytes = Buffer.from(body).toString('latin1');
    return createServer({ ...KEEP_ALIVE, optimizeEmptyRequests: true }, (_request, response) => {
      response.writeHead(200, fields);
      response.end(bytes, 'latin1');
    });
  },

  /** Fastify with schemas and a hook for the key; its pets are in memory only. */
  async fastify({ folder, path }) {
    const app = createRequire(join(folder, 'package.json'))('fastify')();
    const pets = JSON.parse(readFileSync(path, 'utf8'));
    const byId = new Map(pets.map((pet) => [pet.id, pet]));
    const [integer, status] = [{ type: 'integer' }, { enum: ['available', 'pending', 'sold'] }];
    const properties = { id: integer, name: { type: 'string' }, categoryId: integer, status };
    const items = { type: 'object', properties };
    const limit = { ...integer, minimum: 1, maximum: 100, default: 20 };
    const querystring = { type: 'object', properties: { limit, status } };
    const list = { querystring, response: { 200: { type: 'array', items } } };
    app.addHook('onRequest', async ({ headers }, reply) => {
      if (headers.authorization !== 'Bearer bench') reply.code(401).send({});
    });
    app.get('/v1/pets', { schema: list }, async ({ query }) => {
      const found = [];
      for (const pet of pets) {
        if (found.length === query.limit) break;
        if (query.status === undefined || pet.status === query.status) found.push(pet);
      }
      return found;
    });
    const one = { response: { 200: items } };
    app.get('/v1/pets/:id', { schema: one }, async ({ params }) => byId.get(Number(params.id)));
    await app.ready();
    return app.server;
  },

  /** A start as in most small services: the pets are objects then, not the bytes that are sent. */
  parse({ path }) {
    const pets = JSON.parse(readFileSync(path, 'utf8'));
    return createServer((_request, response) => response.end(`${pets.length}`));
  },
};

/** Splits a response into its body and a flat list of the fields that node:http does not add. */
function readAnswer(answer) {
  const [head, body] = answer.split('\r\n\r\n');
  const lines = head.split('\r\n').slice(1);
  const own = lines.filter((line) => !/^(Date|Connection|Keep-Alive):/.test(line));
  return { fields: own.flatMap((line) => line.split(': ')), body };
}

if (isMain(import.meta.url)) {
  const { kind, ...options } = JSON.parse(process.argv[2]);
  // The bench has ended, for whatever reason.
  process.stdin.resume().on('end', () => process.exit());
  // Loading the code is no part of opening.
  if (options.dist !== undefined) await importService(options.dist);
  const startedAt = performance.now();
  const server = await SERVERS[kind](options);
  const openMs = performance.now() - startedAt;
  server.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ port: server.address().port, openMs }));
  });
}
