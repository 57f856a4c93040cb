/**
 * The core stands alone: src/core is copied into an empty folder, with ten lines around it. There
 * it passes the compiler with the project's options, the kit at its strictest, and kill -9.
 */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { testConformance } from '../../src/extras/kit/conformance.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { rounds } from '../support/extent.ts';
import { PetLedger } from '../support/pets/pet-ledger.ts';
import { listAllPets, startLoad } from '../support/pets/pet-load.ts';
import { ROOT } from '../support/process/carry.ts';
import { end, KEY, runNode, startProgram, type Process } from '../support/process/process.ts';
import { createRandom } from '../support/random.ts';

const services: Process[] = [];
const endAll = (): Promise<unknown> =>
  Promise.all(services.map((service) => end(service, 'SIGKILL')));
/** Removed when no process writes into it any more. */
const folder = tempDir({ after: (remove) => after(() => endAll().then(remove)) });
const PROGRAM = 'test/carry/serve-core.ts';
mkdirSync(join(folder, 'test/carry'), { recursive: true });
cpSync(join(ROOT, 'src/core'), join(folder, 'src/core'), { recursive: true });
cpSync(join(ROOT, PROGRAM), join(folder, PROGRAM));
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
  compilerOptions: object;
};
const configuration = { compilerOptions: { ...compilerOptions, rootDir: '.' }, include: ['.'] };
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration));

const compiled = await runNode([join(ROOT, 'node_modules/typescript/bin/tsc')], { cwd: folder });

/** Starts the program on a data file. Resolves with it and its port. */
async function serve(path: string): Promise<{ readonly service: Process; readonly port: number }> {
  const program = join(folder, 'dist/test/carry/serve-core.js');
  const service = startProgram(process.execPath, [program, path, '0', KEY], { cwd: folder });
  services.push(service);
  const pattern = /port: (\d+)/;
  await service.wrote(() => pattern.test(service.stdout()));
  return { service, port: Number(pattern.exec(service.stdout())![1]) };
}

const { port } = await serve(join(folder, 'kit.json'));

test("The core alone passes the compiler with the project's options", () => {
  assert.deepEqual([compiled.code, compiled.stdout], [0, '']);
});

testConformance({
  baseUrl: `http://127.0.0.1:${port}/v1`,
  key: KEY,
  level: 'http',
  isStrict: true,
  timeoutMs: 3_600_000,
});

test('The core alone loses no pet, and stores none twice, if it is killed amid creates', async () => {
  const path = join(folder, 'killed.json');
  const ledger = new PetLedger();
  const random = createRandom(1);
  for (let round = 0; round < rounds(2, 8); round += 1) {
    const { service, port } = await serve(path);
    ledger.check(await listAllPets(port));
    const load = startLoad(port, ledger, random, 4, true);
    await load.answered(50 + random.below(200));
    await end(service, 'SIGKILL');
    await load.ended;
  }
  const last = await serve(path);
  const pets = await listAllPets(last.port);
  ledger.check(pets);
  assert.ok(pets.length >= 100);
});
