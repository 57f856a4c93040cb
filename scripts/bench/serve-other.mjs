/**
 * Other servers with the same operations, from a folder where their packages are installed: Fastify
 * with schemas and a hook for the key, with its pets in memory or in node:sqlite; Express; and
 * json-server.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { kind, folder, path } = JSON.parse(process.argv[2]);
const load = createRequire(join(folder, 'package.json'));
const pets = JSON.parse(readFileSync(path, 'utf8'));
const ready = (port) => process.stdout.write(`${JSON.stringify({ port })}\n`);

const servers = {
  fastify: () => serveFastify(storeInMemory()),
  sqlite: async () => serveFastify(await storeInSqlite(`${path}.db`)),
  express() {
    const app = load('express')();
    const { list, one } = storeInMemory();
    app.disable('etag');
    app.use(checkKey);
    app.get('/v1/pets', (request, response) => {
      const { limit = '20', status } = request.query;
      response.json(list({ limit: Number(limit), status }));
    });
    app.get('/v1/pets/:id', (request, response) => {
      response.json(one(Number(request.params.id)));
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

async function serveFastify({ list, one, create }) {
  const app = load('fastify')();
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization !== 'Bearer bench') reply.code(401).send({});
  });
  const status = { enum: ['available', 'pending', 'sold'] };
  const newPet = {
    type: 'object',
    required: ['name', 'categoryId'],
    properties: { name: { type: 'string' }, categoryId: { type: 'integer' }, status },
  };
  const pet = { type: 'object', properties: { id: { type: 'integer' }, ...newPet.properties } };
  const limit = { type: 'integer', minimum: 1, maximum: 100, default: 20 };
  const schemas = {
    list: {
      querystring: { type: 'object', properties: { limit, status } },
      response: { 200: { type: 'array', items: pet } },
    },
    one: { response: { 200: pet } },
    create: { body: newPet, response: { 201: pet } },
  };
  app.get('/v1/pets', { schema: schemas.list }, async (request) => list(request.query));
  app.get('/v1/pets/:id', { schema: schemas.one }, async ({ params }) => one(Number(params.id)));
  app.post('/v1/pets', { schema: schemas.create }, async (request, reply) => {
    const created = create(request.body);
    reply.code(201).header('Location', `/v1/pets/${created.id}`);
    return created;
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  ready(app.server.address().port);
}

function storeInMemory() {
  const byId = new Map(pets.map((pet) => [pet.id, pet]));
  return {
    list({ limit, status }) {
      const found = [];
      for (const pet of pets) {
        if (status !== undefined && pet.status !== status) continue;
        found.push(pet);
        if (found.length === limit) break;
      }
      return found;
    },
    one: (id) => byId.get(id),
  };
}

/** A create is on the disk before its answer, as it is with us: that is what FULL means. */
async function storeInSqlite(databasePath) {
  // It tells on standard error that it is experimental.
  process.removeAllListeners('warning');
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(databasePath);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  database.exec(
    'CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT NOT NULL, categoryId INTEGER NOT NULL,' +
      ' status TEXT)',
  );
  const insert = database.prepare('INSERT INTO pet (name, categoryId, status) VALUES (?, ?, ?)');
  const first = database.prepare('SELECT * FROM pet ORDER BY id LIMIT ?');
  const byId = database.prepare('SELECT * FROM pet WHERE id = ?');
  const create = ({ name, categoryId, status }) => {
    const { lastInsertRowid } = insert.run(name, categoryId, status ?? null);
    return { id: Number(lastInsertRowid), name, categoryId, status };
  };
  database.exec('BEGIN');
  for (const pet of pets) create(pet);
  database.exec('COMMIT');
  return { list: ({ limit }) => first.all(limit), one: (id) => byId.get(id), create };
}

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
