/**
 * The core stands alone: src/core is copied into an empty folder, with ten lines around it. There
 * it passes the compiler with the project's options, and the kit at its strictest.
 */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { testConformance } from '../../src/extras/kit/conformance.ts';
import { tempDir } from '../support/disk/temp-dir.ts';
import { ROOT } from '../support/process/carry.ts';
import { end, KEY, runNode, startProgram } from '../support/process/process.ts';

/** Removed when no process writes into it any more. */
const folder = tempDir({ after: (remove) => after(() => end(service, 'SIGKILL').then(remove)) });
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

const program = join(folder, 'dist/test/carry/serve-core.js');
const service = startProgram(process.execPath, [program, 'kit.json', '0', KEY], { cwd: folder });
const PORT = /port: (\d+)/;
await service.wrote(() => PORT.test(service.stdout()));

test("The core alone passes the compiler with the project's options", () => {
  assert.deepEqual([compiled.code, compiled.stdout], [0, '']);
});

testConformance({
  baseUrl: `http://127.0.0.1:${PORT.exec(service.stdout())![1]}/v1`,
  key: KEY,
  level: 'http',
  isStrict: true,
  timeoutMs: 3_600_000,
});
