/**
 * The bench: that it runs, and that its load generator takes no wrong answer for a fast one.
 *
 * npm test, on a project of a few small files: what it builds, which tests it runs, and what it
 * shows of them.
 */

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { tempDir } from './support/disk/temp-dir.ts';
import { listenFor } from './support/http/service.ts';
import { runNode, runScript } from './support/process/process.ts';
import { needs, run } from './support/process/program.ts';
import { pathsIn, ROOT } from './support/project.ts';

test('The bench sets the service against floors and another build', async () => {
  const args = ['--part', 'way', '--only', 'one pet', '--rounds', '1', '--seconds', '0.002'];
  const against = ['--against', join(ROOT, 'dist')];
  const { code, stdout, stderr } = await runScript('bench.mjs', [...args, ...against]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^\| What \| ours \| naive \| fastest \| other build \|\n\|---\|/m);
  const figures = String.raw`( \| [0-9.]+ \([0-9.]+–[0-9.]+\)[^|]*){3} \|$`;
  assert.match(stdout, new RegExp(String.raw`^\| one pet \| [0-9.]+ µs${figures}`, 'm'));
  // Without a terminal, progress is printed in lines.
  assert.match(stderr, /^way: round 1$/m);
});

test('The bench refuses a part that it does not know, and a folder without a build', async () => {
  for (const [args, complaint] of [
    [['--part', 'way,wey'], /^--part must be of way, .*, not wey\n$/],
    [['--against', ROOT], /^--against must be the dist\/ of a build: there is no index\.js in /],
  ] as const) {
    const { code, stderr } = await runScript('bench.mjs', [...args]);
    assert.equal(code, 2);
    assert.match(stderr, complaint);
  }
});

/** How a server responds, and the exit code of the load generator. */
const SERVERS: readonly (readonly [what: string, listener: RequestListener, code: number])[] = [
  ['the right answer', (_request, response) => response.end('four'), 0],
  [
    'another status',
    (_request, response) => response.writeHead(500, { 'Content-Length': 4 }).end('four'),
    1,
  ],
  ['a longer body', (_request, response) => response.end('fiver'), 1],
  ['a shorter body', (_request, response) => response.end('six'), 1],
  ['no answer', (request) => request.socket.destroy(), 1],
];

for (const [what, listener, code] of SERVERS) {
  test(`The load generator ${code === 0 ? 'counts' : 'fails at'} ${what}`, async (t) => {
    const port = await listenFor(t, createServer(listener));
    const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
    const job = { port, request, connections: 2, seconds: 0.05, bodyBytes: 4 };
    const result = await runScript('bench/load.mjs', [JSON.stringify(job)]);
    assert.equal(result.code, code, result.stderr);
    if (code > 0) return assert.equal(result.stdout, '');
    const { answers, rate } = JSON.parse(result.stdout) as Record<string, number>;
    assert.ok(answers! >= 2 && rate! > 0);
  });
}

/** The files of a project, by their paths. The two tests of `b` are declared by a helper. */
const FILES: Readonly<Record<string, string>> = {
  'src/bank.ts': `
export interface Flood {
  readonly height: number;
}

export function hold({ height }: Flood): void {
  if (height > 3) throw new Error('It drowned', { cause: 'No bank' });
}

if (process.argv[2] === 'high') hold({ height: 4 });
`,
  'test/a.test.ts': `
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { hold } from '../src/bank.ts';

test('A lock holds', (t) => t.diagnostic("TEST_CASE='a lock'"));
test("A (high) flood doesn't hold", (t) => {
  t.diagnostic("TEST_CASE='a flood'");
  console.log('it rises');
  hold({ height: 4 });
});
test('A process holds', () => {
  const { stderr } = spawnSync(process.execPath, ['dist/bank.js', 'high'], { encoding: 'utf8' });
  throw new Error(stderr);
});
test('Another user', { skip: 'needs root' }, () => undefined);
`,
  'test/dry/b.test.ts': `
import { declare } from '../support/declare.ts';

declare('A pump holds');
declare('A sieve holds');
`,
  'test/support/declare.ts': `
import { test } from 'node:test';

export function declare(name: string): void {
  test(name, () => {
    if (name.includes('sieve')) throw new Error("It leaks with TEST_CASE='three holes'");
  });
}
`,
};

const project = join(tempDir({ after }), 'project');
const inProject = { cwd: project };

before(() => {
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json', 'test/tsconfig.json']) {
    fs.cpSync(join(ROOT, name), join(project, name));
  }
  const scripts = pathsIn('scripts').filter((path) => /^scripts\/(build|test.*)\.mjs$/.test(path));
  for (const name of [...scripts, 'scripts/tsconfig.json']) {
    fs.cpSync(join(ROOT, name), join(project, name));
  }
  for (const [path, text] of Object.entries(FILES)) write(path, text);
  write('src/LICENSE', 'MIT\n');
  fs.symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'), 'dir');
});

function write(path: string, text: string): void {
  fs.mkdirSync(dirname(join(project, path)), { recursive: true });
  fs.writeFileSync(join(project, path), text);
}

/** Runs npm test in the project. */
function npmTest(args: readonly string[], env = {}) {
  return runNode(['scripts/test.mjs', ...args], { ...inProject, env });
}

/** Returns a position in a source as it is shown: of the text, which is there once. */
function positionOf(path: string, text: string): string {
  const before = FILES[path]!.split(text)[0]!.split('\n');
  return `${path}:${before.length}:${before.at(-1)!.length + 1}`;
}

test('npm test names a part that is in no path, and near paths, before it builds', async () => {
  const { code, stderr } = await npmTest(['dry', 'suport/decl', 'dryy/b', 'test/a.test.ts']);
  assert.equal(code, 1);
  const unknown = 'No test file has "suport/decl" in its path';
  const near = 'No test file has "dryy/b" in its path; near it: test/dry/b.test.ts';
  assert.equal(stderr, `${unknown}\n${near}\n`);
  assert.ok(!fs.existsSync(join(project, '.build')));
});

/** All tests of the project, once, after its build. */
let whole: ReturnType<typeof npmTest> | undefined;
const runAll = () => (whole ??= npmTest(['--slow']));

test('npm test shows each test file, each failure in full, what was skipped, and the sums', async () => {
  const { code, stdout, stderr } = await runAll();
  assert.equal(code, 1, stderr);
  assert.match(stdout, /^Running 2 test files\ntest\/a\.test\.ts\nit rises\n✖ A \(high\) flood /);
  assert.match(stdout, /\ntest\/dry\/b\.test\.ts\n✖ A sieve holds /);
  assert.equal(stdout.match(/^test\/\S+$/gm)?.length, 2);
  assert.match(stdout, /\n﹣ Another user \S+ # needs root\n/);
  assert.match(stdout, /\nℹ tests 6\n[^]*failing tests:[^]*It drowned\n +at [^]*'No bank'/);
  assert.match(stdout, /ℹ TEST_CASE='a flood'/);
  assert.doesNotMatch(stdout, /✔|A pump holds \(|a lock/);
  const [, longest = ''] = /\nThe longest tests:\n([^]*)The longest test files:\n/.exec(stdout)!;
  const times = longest.match(/[0-9.]+(?= s )/g)!.map(Number);
  assert.equal(times.length, 6);
  const sorted = times.toSorted((a, b) => b - a);
  assert.deepEqual(times, sorted);
  assert.match(longest, / s {2}dry\/b: A pump holds\n/);
});

test('npm test shows positions in sources, also in what a process of a test has printed', async () => {
  const { stdout } = await runAll();
  assert.doesNotMatch(stdout, /\.build|dist\/|\.js:/);
  const thrown = positionOf('src/bank.ts', "new Error('It drowned'");
  const [, failures = ''] = stdout.split('failing tests:');
  // In the stack of the test, and in that of the process.
  assert.equal(failures.split(thrown).length - 1, 2, stdout);
  assert.ok(stdout.includes(positionOf('test/a.test.ts', 'hold({ height: 4 }')), stdout);
  assert.ok(stdout.includes(`test at ${positionOf('test/a.test.ts', 'test("A (high)')}`), stdout);
  // Before the source line that Node prints.
  const [line = ''] = thrown.match(/.*(?=:)/)!;
  assert.match(stdout, new RegExp(`${line}\n`));
});

test(
  'The command that npm test prints for a failure runs that test again',
  needs('sh'),
  async () => {
    const { stdout } = await runAll();
    const commands = stdout.match(/(?<=^Again: ).*$/gm)!;
    assert.deepEqual(commands, [
      String.raw`TEST_CASE='a flood' npm test -- a --only 'A (high) flood doesn'\''t hold'`,
      "npm test -- a --only 'A process holds'",
      "TEST_CASE='three holes' npm test -- dry/b --only 'A sieve holds'",
    ]);
    const [command = ''] = commands;
    const node = `'${process.execPath}' scripts/test.mjs`;
    const again = run('sh', ['-c', `cd '${project}'; ${command.replace('npm test --', node)}`]);
    assert.equal(again.status, 1);
    assert.deepEqual(again.text.match(/(?<=^Again: ).*$/gm), [command]);
    assert.match(again.text, /failing tests:\n[^]*\nRan only tests with ".*" in their names: 1\n/);
  },
);

test('npm test fails if no test has the text of --only, which is no regular expression', async () => {
  const { code, stdout } = await npmTest(['--only', 'A .* holds']);
  assert.equal(code, 1);
  assert.match(stdout, /^Running 2 test files, only tests with "A \.\* holds" in their names\n/);
  assert.match(stdout, /\nNo test has "A \.\* holds" in its name\n$/);
  assert.doesNotMatch(stdout, /✖|test\/|it rises/);
});

test('npm test builds again only if a source or something built was changed or deleted', async () => {
  const scripts = pathToFileURL(join(project, 'scripts', 'build.mjs')).href;
  const { DIST, isBuilt, TESTS } = (await import(scripts)) as {
    readonly DIST: unknown;
    readonly TESTS: unknown;
    isBuilt(output: unknown): boolean;
  };
  const builds = (): readonly boolean[] => [DIST, TESTS].map((output) => !isBuilt(output));
  const lock = await npmTest(['--only', 'A lock']);
  const lines = 'test/a.test.ts\nRan only tests with "A lock" in their names: 1\n';
  assert.deepEqual([lock.code, lock.stdout.replace(/^Running .*\n/, '')], [0, lines]);
  const NEITHER = [false, false];
  assert.deepEqual(builds(), NEITHER);
  const BOTH = [true, true];
  const TESTS_ONLY = [false, true];
  for (const [path, expected] of [
    ['src/bank.ts', BOTH],
    ['test/dry/b.test.ts', TESTS_ONLY],
    ['tsconfig.json', BOTH],
    ['test/tsconfig.json', TESTS_ONLY],
    ['scripts/test.mjs', TESTS_ONLY],
    ['dist/bank.js', [true, false]],
    ['dist/LICENSE', [true, false]],
    ['.build/test/a.test.js.map', TESTS_ONLY],
    ['test/a.script', NEITHER],
  ] as const) {
    const file = join(project, path);
    const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
    fs.writeFileSync(file, `${text} `);
    // A copy from elsewhere may be older than the build.
    fs.utimesSync(file, 0, 0);
    assert.deepEqual(builds(), expected, `${path} is changed`);
    fs.rmSync(file);
    assert.deepEqual(builds(), expected, `${path} is deleted`);
    if (text !== undefined) fs.writeFileSync(file, text);
    assert.deepEqual(builds(), NEITHER, `${path} is as it was`);
  }
  fs.rmSync(join(project, 'test', 'dry'), { recursive: true });
  await npmTest(['--only', 'A lock']);
  assert.ok(!fs.existsSync(join(project, '.build', 'test', 'dry')));
  assert.deepEqual(builds(), NEITHER);
});

/** Files that hang, and what npm test says of each. */
const HANGING: Readonly<Record<string, readonly [text: string, said: RegExp]>> = {
  waits: [
    "test('It waits', () => new Promise(() => setInterval(() => undefined, 1000)));",
    /Running: "It waits"/,
  ],
  loops: [
    "test('It loops', () => {\n  for (;;);\n});",
    // Only a Node with a WebSocket can ask where.
    typeof WebSocket === 'undefined'
      ? /Running: no test/
      : /at \S+ \(test\/hang\/loops\.test\.ts:3:\d+\)/,
  ],
  // A process that is left has the output of the file. It ends with the project.
  leaves: [
    `import { spawn } from 'node:child_process';
const wait = "setInterval(() => fs.existsSync('package.json') || process.exit(), 100)";
test('It ends', () => spawn(process.execPath, ['-e', wait], { stdio: 'inherit' }).unref());`,
    /Running: no test that is known/,
  ],
  open: [
    "test('It ends', () => void setInterval(() => undefined, 1000));",
    /Running: no test that is known/,
  ],
};

test('npm test ends a file that hangs, says in which test, and runs the others', async () => {
  const startedAt = performance.now();
  await npmTest(['a.test', '--only', 'A lock']);
  // Nothing that does not hang takes so long, on this machine and now.
  const limitMs = 3 * (performance.now() - startedAt);
  for (const [name, [text]] of Object.entries(HANGING)) {
    write(`test/hang/${name}.test.ts`, `import { test } from 'node:test';\n${text}\n`);
  }
  const { code, stdout } = await npmTest(['hang', 'a.test'], { TEST_LIMIT_MS: `${limitMs}` });
  assert.equal(code, 1);
  const failures = stdout.split('failing tests:')[1]!.split(/\n(?=test at )/);
  for (const [name, [, said]] of Object.entries(HANGING)) {
    const failure = failures.find((one) => one.startsWith(`test at test/hang/${name}.test.ts`));
    assert.match(failure ?? stdout, /It hangs, and was ended/);
    assert.match(failure!, said);
  }
  assert.match(stdout, /✖ A process holds /);
  assert.match(stdout, /\nAgain: npm test -- hang\/waits --only 'It waits'\n/);
  assert.match(stdout, /\nAgain: npm test -- hang\/open\n/);
});
