/**
 * How much of the service one request enters, by V8's precise coverage: the files and functions
 * that a newcomer would have to read. The figures are limits, and are lowered when they can be.
 */

import assert from 'node:assert/strict';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openApp } from '../src/app.ts';
import { createService } from '../src/core/app/service.ts';
import { createPlainServer } from '../src/core/http/http-server.ts';
import { openFileStore } from '../src/core/store/file-store.ts';
import { createHttpServer } from '../src/index.ts';
import { tempDir } from './support/disk/temp-dir.ts';
import { CREATE, requestOf } from './support/http/requests.ts';
import { KEY, listenFor } from './support/http/service.ts';
import { openWire } from './support/http/wire.ts';

const SOURCES: string = new URL('../src/', import.meta.url).href;

/** The requests, each with the most files and functions of the core, and of an app. */
const WAYS = [
  ['GET of a list', requestOf('GET /v1/pets'), [14, 48], [19, 60]],
  ['POST of a pet', CREATE, [28, 120], [32, 131]],
] as const;

async function startApp(dataFile: string) {
  const app = await openApp({ dataFile, apiKeys: [KEY] });
  return { server: createHttpServer(app.listener), close: () => app.close() };
}

async function startCore(path: string) {
  const service = createService({ store: () => openFileStore({ path }), apiKeys: [KEY] });
  await service.open();
  return { server: createPlainServer(service.listener), close: () => service.close() };
}

for (const [what, request, ...limits] of WAYS) {
  for (const [index, [maxFiles, maxFunctions]] of limits.entries()) {
    const start = [startCore, startApp][index]!;
    const where = ['in the core', 'in an app'][index]!;
    test(`A ${what} enters at most ${maxFiles} files and ${maxFunctions} functions ${where}`, async (t) => {
      // What is done once a second belongs to no request. On a slow machine each one would meet it.
      t.mock.timers.enable({ apis: ['setInterval'] });
      const { server, close } = await start(join(tempDir(t), 'pets.json'));
      const wire = await openWire(t, await listenFor(t, server));
      // So that each module is loaded.
      wire.socket.write(CREATE + request);
      await wire.answers(2);
      const { files, functions } = await enteredBy(async () => {
        wire.socket.write(request);
        await wire.answers(3);
      });
      await close();
      const text = `${files.length} files and ${functions} functions: ${files.join(', ')}`;
      t.diagnostic(text);
      assert.ok(files.length <= maxFiles && functions <= maxFunctions, text);
      // It is not a list of nothing.
      assert.ok(files.includes('core/http/handle-request.js') && functions > 30, text);
    });
  }
}

/** Resolves with the files of src that the work enters, and how many of their functions. */
async function enteredBy(work: () => Promise<void>) {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  const entered = result.flatMap(({ url, functions }) => {
    const called = functions.filter(({ ranges: [whole] }) => whole!.count > 0);
    return url.startsWith(SOURCES) ? called.map(() => url.slice(SOURCES.length)) : [];
  });
  return { files: [...new Set(entered)].sort(), functions: entered.length };
}
