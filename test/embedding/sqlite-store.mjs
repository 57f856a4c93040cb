// A store of one's own, on node:sqlite (Node.js 22.13 or later): durable, one pet a commit.

import { DatabaseSync } from 'node:sqlite';
import * as petstore from 'petstore';

const SCHEMA = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS pets
    (id INTEGER PRIMARY KEY, status TEXT, members TEXT) STRICT;
  CREATE INDEX IF NOT EXISTS petsByStatus ON pets (status, id)`;

export function openSqliteStore(path) {
  const database = new DatabaseSync(path);
  database.exec(SCHEMA);
  const prepare = (sql) => {
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    return statement;
  };
  const insert = prepare('INSERT INTO pets VALUES (NULL, ?, ?) RETURNING *');
  const find = prepare('SELECT * FROM pets WHERE id = ?');
  const listAll = prepare('SELECT * FROM pets WHERE id > ? ORDER BY id LIMIT ?');
  const listOf = prepare('SELECT * FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?');
  const byStatus = { available: 0, pending: 0, sold: 0, none: 0 };
  const groups = prepare(
    "SELECT ifnull(status, 'none') AS name, count(*) AS pets FROM pets GROUP BY 1",
  );
  for (const { name, pets } of groups.all()) byStatus[name] = Number(pets);
  let isClosed = false;
  return {
    async create(newPet) {
      if (isClosed) throw new petstore.StoreUnavailableError('The store is closed');
      const values = petstore.readNewPet(newPet);
      const members = petstore.formatMembers(values);
      try {
        const row = insert.get(values.status ?? null, members);
        byStatus[values.status ?? 'none'] += 1;
        return toPet(row);
      } catch (error) {
        throw new petstore.OutcomeUnknownError(`SQLite failed: ${error.message}`);
      }
    },
    async get(id) {
      const row = read(() => find.get(id));
      return row && toPet(row);
    },
    async list({ limit, status, after = 0n }) {
      const rows = read(() =>
        status ? listOf.all(status, after, limit + 1) : listAll.all(after, limit + 1),
      );
      const text = petstore.formatPets(rows.slice(0, limit).map((row) => toPet(row).text));
      return { text, next: rows.length > limit ? rows[limit - 1].id : undefined };
    },
    count() {
      const { none, ...counts } = byStatus;
      return { total: none + counts.available + counts.pending + counts.sold, byStatus: counts };
    },
    unreadiness: () => (isClosed ? 'The store is closed' : undefined),
    async close() {
      if (!isClosed) database.close();
      isClosed = true;
    },
  };
}

/** Throws what the service answers with a 503. */
function read(query) {
  try {
    return query();
  } catch (error) {
    throw new petstore.StoreUnavailableError(`SQLite failed: ${error.message}`);
  }
}

function toPet({ id, members }) {
  return { id, text: petstore.formatPet(id, members) };
}
