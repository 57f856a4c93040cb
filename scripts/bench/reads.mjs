/**
 * Reads over HTTP: the service against the floors, which send what the service sent before, against
 * Fastify if it is installed, and against another build.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { compare, contender, get, service } from './paired.mjs';
import { startServer } from './processes.mjs';
import { SCENARIOS } from './way.mjs';

/** @import { Bench, Opponents } from './paired.mjs' */

const PETS = 1000;

/** @param {Bench} bench */
export async function measure(bench) {
  const rows = [];
  for (const { what, path } of SCENARIOS) {
    const answer = await answerOf(bench, path);
    const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
    const job = get(path, 64, body.length);
    /** @param {'naive' | 'fastest'} kind */
    const floor = (kind) => contender(bench, kind, { answer }, job);
    /** @type {Opponents} */
    const opponents = { naive: [floor('naive'), '≥ 0.92'], fastest: [floor('fastest')] };
    if (bench.contenders !== undefined) {
      const options = { folder: bench.contenders, pets: PETS };
      // Fastify writes the same JSON without line feeds.
      const compact = { ...job, bodyBytes: JSON.stringify(JSON.parse(body)).length };
      const fastify = contender(bench, 'fastify', options, compact);
      opponents['Fastify'] = [fastify, '≥ 1.00'];
    }
    if (bench.against !== undefined) {
      opponents['other build'] = [service(bench, PETS, job, bench.against), '≥ 0.97'];
    }
    const ours = service(bench, PETS, job);
    rows.push(await compare(bench, what, ours, opponents));
  }
  return rows;
}

/**
 * Resolves with the text of the service's response.
 * @param {Bench} bench
 * @param {string} path
 */
async function answerOf(bench, path) {
  const server = await startServer(bench, 'service', { dist: bench.dist, pets: PETS });
  const socket = connect(server.port, '127.0.0.1').end(get(path).request);
  await once(socket, 'connect');
  const answer = await text(socket);
  await server.stop();
  return answer;
}
