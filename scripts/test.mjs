/**
 * npm test: installs where needed, builds dist/ (which some tests run) and the tests, and runs
 * them.
 *
 * Arguments choose test files by a part of their path: npm test -- router journal
 */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build, fail, root, run } from './build.mjs';

build('tsconfig.json', 'dist');
build(join('test', 'tsconfig.json'), '.build');

const wanted = process.argv.slice(2);
const files = readdirSync(join(root, '.build', 'test'), { recursive: true })
  .filter((name) => name.endsWith('.test.js'))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .sort()
  .map((name) => join(root, '.build', 'test', name));
const args = ['--test', '--test-reporter=spec', '--test-timeout=120000', ...files];
if (!run(process.execPath, args)) fail('Tests failed');
