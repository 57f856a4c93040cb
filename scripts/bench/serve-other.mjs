/** Other servers with the same operation, from a folder where their packages are installed. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { kind, folder, path } = JSON.parse(process.argv[2]);
const load = createRequire(join(folder, 'package.json'));
const pets = JSON.parse(readFileSync(path, 'utf8'));
const byId = new Map(pets.map((pet) => [pet.id, pet]));
const ready = (port) => process.stdout.write(`${JSON.stringify({ port })}\n`);

const petSchema = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    categoryId: { type: 'integer' },
    status: { type: 'string' },
  },
};

const servers = {
  async fastify() {
    const app = load('fastify')();
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers.authorization !== 'Bearer bench') reply.code(401).send({});
    });
    const querystring = {
      type: 'object',
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        status: { enum: ['available', 'pending', 'sold'] },
      },
    };
    const listSchema = { querystring, response: { 200: { type: 'array', items: petSchema } } };
    app.get('/v1/pets', { schema: listSchema }, async (request) => list(request.query));
    const schema = { response: { 200: petSchema } };
    app.get('/v1/pets/:id', { schema }, async (request) => byId.get(Number(request.params.id)));
    await app.listen({ port: 0, host: '127.0.0.1' });
    ready(app.server.address().port);
  },
  express() {
    const app = load('express')();
    app.disable('etag');
    app.use(checkKey);
    app.get('/v1/pets', (request, response) => {
      const { limit = '20', status } = request.query;
      response.json(list({ limit: Number(limit), status }));
    });
    app.get('/v1/pets/:id', (request, response) => {
      response.json(byId.get(Number(request.params.id)));
    });
    listen(app);
  },
  'json-server'() {
    const { create, router } = load('json-server');
    const app = create();
    app.disable('etag');
    // By default it indents its answers: more bytes than the others send.
    app.set('json spaces', 0);
    app.use(checkKey);
    app.use('/v1', useOwnNames, router({ pets }));
    listen(app);
  },
};

await servers[kind]();

function checkKey(request, response, next) {
  if (request.headers.authorization === 'Bearer bench') next();
  else response.status(401).json({});
}

/** json-server's parameters begin with an underscore; its filters are the names of fields. */
function useOwnNames(request, _response, next) {
  const { limit = '20', ...filters } = request.query;
  request.query = { ...filters, _limit: limit };
  next();
}

function listen(app) {
  const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
}

function list({ limit, status }) {
  const found = [];
  for (const pet of pets) {
    if (status !== undefined && pet.status !== status) continue;
    found.push(pet);
    if (found.length === limit) break;
  }
  return found;
}
