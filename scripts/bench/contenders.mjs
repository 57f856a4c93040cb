/**
 * The contenders and jobs that more than one part uses.
 *
 * The service comes in its kinds (serve-petstore.mjs), others from where they are installed
 * (serve-other.mjs). A job is what a burst sends, and over how many connections.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freshData } from './data.mjs';
import { serverContender } from './processes.mjs';

/** The service with its own copy of a data file; named after its kind, or `a twin`. */
export function petstore(bench, kind, pets, job, name = kind) {
  const prepare = () => ({ kind, path: freshData(bench.folder, `${name}-${pets}`, pets) });
  return serverContender(bench, name, 'serve-petstore.mjs', prepare, job);
}

/** Another server, with the thousand pets of the bench. */
export function other(bench, kind, job) {
  const prepare = () => ({
    kind,
    folder: bench.contenders,
    path: freshData(bench.folder, kind, 1000),
  });
  return serverContender(bench, kind, 'serve-other.mjs', prepare, job);
}

/** Returns true if the package is in the folder of contenders. */
export function isInstalled(bench, name) {
  return bench.contenders !== undefined && existsSync(join(bench.contenders, 'node_modules', name));
}

export function reads(path, connections, bodyBytes) {
  return { request: { path }, connections, bodyBytes };
}

export function creates(connections) {
  const body = '{"name":"Pet 1234567","categoryId":42,"status":"available"}';
  return { request: { path: '/v1/pets', body }, connections, status: 201 };
}
