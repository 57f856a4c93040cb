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

/** @import { Server } from 'node:http' */

const KEEP_ALIVE = { keepAliveTimeout: 65_000 };
/**
 * Options of all kinds.
 * @typedef {object} Options
 * @property {string} [dist] the build of the service
 * @property {string} [path] of the data file
 * @property {{ endpoints: string[], prefix: string }} [etcd]
 * @property {true} [memory]
 * @property {string} [answer] the text of the response that a floor sends
 * @property {string} [folder] where fastify is installed
 *
 * What of Fastify is used; it is no dependency.
 * @typedef {ReturnType<typeof import('./data.mjs').petOf>} Pet
 * @typedef {{ code(status: number): { send(body: object): void } }} Reply
 * @typedef {{
 *   headers: Record<string, string>, params: Record<string, string>,
 *   query: { limit: number, status?: string },
 * }} Request
 *
 * @typedef {'service' | 'naive' | 'fastest' | 'fastify' | 'parse'} Kind
 * @typedef {(options: Options) => Server | Promise<Server>} Start
 */

/**
 * @param {string} dist
 * @returns {Promise<typeof import('../../src/index.ts')>}
 */
export const importService = (dist) => import(pathToFileURL(join(dist, 'index.js')).href);

/** @satisfies {Record<Kind, Start>} */
export const SERVERS = {
  /** The service from a build, with its pets on a data file, in a new log on etcd, or in memory. */
  async service(/** @type {Options} */ { dist = '', path: dataFile, etcd, memory }) {
    const { createHttpServer, initEtcd, openApp } = await importService(dist);
    if (etcd !== undefined) await initEtcd(etcd);
    const memoryOnly = memory === undefined ? {} : { memory };
    const stored = dataFile ? { dataFile } : etcd ? { etcd } : memoryOnly;
    const app = await openApp({ ...stored, apiKeys: ['bench'], page: true });
    return createHttpServer(app.listener);
  },

  naive(/** @type {Options} */ { answer = '' }) {
    const { fields, body } = readAnswer(answer);
    return createServer(KEEP_ALIVE, (_request, response) => {
      response.statusCode = 200;
      for (let i = 0; i < fields.length; i += 2)
        response.setHeader(fields[i] ?? '', fields[i + 1] ?? '');
      response.end(body);
    });
  },

  /** A flat list for writeHead, and the body as a string of bytes. */
  fastest(/** @type {Options} */ { answer = '' }) {
    const { fields, body } = readAnswer(answer);
    const bytes = Buffer.from(body).toString('latin1');
    // Since Node 24.
    const options = { ...KEEP_ALIVE, optimizeEmptyRequests: true };
    return createServer(options, (_request, response) => {
      response.writeHead(200, fields);
      response.end(bytes, 'latin1');
    });
  },

  /** Fastify with schemas and a hook for the key; its pets are in memory only. */
  async fastify(/** @type {Options} */ { folder = '', path = '' }) {
    const app = createRequire(join(folder, 'package.json'))('fastify')();
    /** @type {Pet[]} */
    const pets = JSON.parse(readFileSync(path, 'utf8'));
    const byId = new Map(pets.map((pet) => [pet.id, pet]));
    const [integer, status] = [{ type: 'integer' }, { enum: ['available', 'pending', 'sold'] }];
    const properties = { id: integer, name: { type: 'string' }, categoryId: integer, status };
    const items = { type: 'object', properties };
    const limit = { ...integer, minimum: 1, maximum: 100, default: 20 };
    const querystring = { type: 'object', properties: { limit, status } };
    const list = { querystring, response: { 200: { type: 'array', items } } };
    /** @type {(request: Request, reply: Reply) => Promise<void>} */
    const checkKey = async ({ headers }, reply) => {
      if (headers['authorization'] !== 'Bearer bench') reply.code(401).send({});
    };
    /** @type {(request: Request) => Promise<Pet[]>} */
    const findPets = async ({ query }) => {
      const found = [];
      for (const pet of pets) {
        if (found.length === query.limit) break;
        if (query.status === undefined || pet.status === query.status) found.push(pet);
      }
      return found;
    };
    app.addHook('onRequest', checkKey);
    app.get('/v1/pets', { schema: list }, findPets);
    /** @type {(request: Request) => Promise<Pet | undefined>} */
    const findPet = async ({ params }) => byId.get(Number(params['id']));
    const one = { response: { 200: items } };
    app.get('/v1/pets/:id', { schema: one }, findPet);
    await app.ready();
    return app.server;
  },

  /** A start as in most small services: the pets are objects then, not the bytes that are sent. */
  parse(/** @type {Options} */ { path = '' }) {
    const pets = JSON.parse(readFileSync(path, 'utf8'));
    return createServer((_request, response) => response.end(`${pets.length}`));
  },
};

/**
 * Splits a response into its body and a flat list of the fields that node:http does not add.
 * @param {string} answer
 */
function readAnswer(answer) {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const lines = head.split('\r\n').slice(1);
  const own = lines.filter((line) => !/^(Date|Connection|Keep-Alive):/.test(line));
  return { fields: own.flatMap((line) => line.split(': ')), body };
}

if (isMain(import.meta.url)) {
  /** @type {Options & { kind: Kind }} */
  const { kind, ...options } = JSON.parse(process.argv[2] ?? '');
  // The bench has ended, for whatever reason.
  process.stdin.resume().on('end', () => process.exit());
  // Loading the code is no part of opening.
  if (options.dist !== undefined) await importService(options.dist);
  const startedAt = performance.now();
  const server = await SERVERS[kind](options);
  const openMs = performance.now() - startedAt;
  server.listen(0, '127.0.0.1', () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    console.log(JSON.stringify({ port, openMs }));
  });
}
