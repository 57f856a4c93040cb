/** The pages: their files, links and commands exist, and the tour and the tables are true. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { OPTION_NAMES } from '../src/app.ts';
import { VERSION } from '../src/core/base/version.ts';
import { PROCESS_SETTINGS } from '../src/process/config.ts';
import { STATUS_OF_CODE } from '../src/core/api/api-error.ts';
import { checksOf } from '../src/extras/kit/checks.ts';
import type { PetStore } from '../src/core/pets/pet-store.ts';
import { createMemoryStore } from '../src/core/store/memory-store.ts';
import { tempDir } from './support/disk/temp-dir.ts';
import { freePort, openService } from './support/http/service.ts';
import { needs, run } from './support/process/program.ts';
import { blockOf, headingId, LINKS, pathsIn, readText, ROOT } from './support/project.ts';
import { until } from './support/until.ts';

const readme = readText('README.md');

/** The paths of all files but the README, from the root. */
const paths = ['src', 'test', 'scripts'].flatMap(pathsIn);

/** The pages by their paths. */
const pages = new Map<string, string>();
for (const path of ['README.md', ...paths])
  if (path.endsWith('.md')) pages.set(path, readText(path));
const all = [...pages.values()].join('\n');

test('Each file that a page names exists', () => {
  const named = all.matchAll(/`(?:\.\.\/)*([a-z0-9./-]+\.(?:ts|mjs))`/g);
  const names = Array.from(named, ([, name]) => name!);
  assert.ok(names.length > 100);
  for (const name of names) {
    // A page names a file by its last name, or by its path from the folder or the root.
    const isThere = paths.some((path) => path === name || path.endsWith(`/${name}`));
    assert.ok(isThere, name);
  }
});

test('The README has at most 250 lines, and leads to every page', () => {
  assert.ok(readme.split('\n').length - 1 <= 250);
  for (const path of pages.keys()) {
    if (path !== 'README.md') assert.ok(readme.includes(`(${path})`), path);
  }
});

test('The README lists every error code, each in a row with its status', () => {
  const listed = rowsOf('README.md', 'Status').flatMap(([statuses = '', codes = '']) => {
    const groups = codes.split('; ').map((group) => group.match(/[a-z_0-9]+/g)!);
    return statuses.split(', ').flatMap((status, index) => {
      return groups[index]!.map((code) => [code, Number(status)]);
    });
  });
  assert.deepEqual(listed.sort(), Object.entries(STATUS_OF_CODE).sort());
});

/** Returns the cells of a page's table, whose first column has this title, by row. */
function rowsOf(page: string, title: string): readonly (readonly string[])[] {
  const [, table = ''] = pages.get(page)!.split(`\n| ${title} |`);
  const [, ...rows] = table.split('\n\n')[0]!.split('\n').slice(1);
  assert.ok(rows.length >= 5, `${page} has a table ${title}`);
  return rows.map((row) => row.split(/ *\| */).slice(1, -1));
}

test('Each link and picture of a page leads to a file, and to a heading if it names one', () => {
  let count = 0;
  for (const [path, page] of pages) {
    for (const [, target = '', id] of page.matchAll(LINKS)) {
      const linked = target === '' ? path : join(dirname(path), target).replaceAll('\\', '/');
      const isThere = id === undefined || headingsOf(linked).includes(id);
      assert.ok(existsSync(join(ROOT, linked)), `${path} links ${target}`);
      assert.ok(isThere, `${path} links ${linked}#${id}`);
      count += 1;
    }
  }
  assert.ok(count > 10);
});

/** The ids that GitHub gives to the headings of a page. */
function headingsOf(path: string): readonly string[] {
  const headings = pages.get(path)?.matchAll(/^#+ (.+)$/gm) ?? [];
  return Array.from(headings, ([, text]) => headingId(text!));
}

const TOUR = 'src/TOUR.md';

/** The part of the tour from one heading of the second level up to another. */
function partOfTour(from: string, to: string): string {
  const page = pages.get(TOUR)!;
  const [start, end] = [page.indexOf(`\n## ${from}\n`), page.indexOf(`\n## ${to}\n`)];
  assert.ok(start !== -1 && start < end, `${from} is before ${to}`);
  return page.slice(start, end);
}

test('The order of the tour reaches every file of src', () => {
  const order = partOfTour('The order of the rest', 'Words');
  const named = Array.from(order.matchAll(/(?<=[`/])[a-z0-9-]+\.ts(?=`)/g), ([name]) => name);
  assert.ok(named.length > 100);
  for (const path of paths) {
    if (!path.startsWith('src/') || !path.endsWith('.ts')) continue;
    // If several files have one name, each needs its own mention.
    const index = named.indexOf(basename(path));
    assert.notEqual(index, -1, `The order in ${TOUR} does not list ${path}`);
    named.splice(index, 1);
  }
});

test('Each chapter of the tour takes its time at about 225 lines of code an hour, and so does all', () => {
  const sources = paths.filter((path) => path.startsWith('src/') && path.endsWith('.ts'));
  const chapters = partOfTour('The order of the rest', 'Words').split(/\n(?=\*\*|#)/);
  const hoursOf = new Map<string, number>();
  for (const chapter of chapters) {
    const [, title = '', given] = /^\*\*([^(]+) \(([\d.]+) h\)/.exec(chapter) ?? [];
    if (given === undefined) continue;
    const hours = Number(given);
    const files = sources.filter((path) => {
      const [, room = ''] = /^src\/((?:core\/|extras\/)?[\w-]+\/)?/.exec(path)!;
      return chapter.includes(`\`${basename(path)}\``) && chapter.includes(`\`${room}`);
    });
    const isCode = (line: string): boolean => !/^\s*($|\/\/|\/?\*)/.test(line);
    const count = files.flatMap((path) => readText(path).split('\n')).filter(isCode).length;
    assert.ok(count / hours >= 190 && count / hours <= 260, `${count} lines: ${title} ${hours} h`);
    hoursOf.set(title, hours);
  }
  assert.ok(hoursOf.size > 10);
  const sum = (titles: readonly string[]): number =>
    titles.reduce((hours, title) => hours + hoursOf.get(title)!, 0);
  const core = ['Values', 'HTTP', 'The interface', 'The store', 'The service'];
  const said = /the core takes (\d+) hours, all of `src` (\d+)/.exec(
    pages.get(TOUR)!.replaceAll(/\s+/g, ' '),
  )!;
  for (const [index, titles] of [core, [...hoursOf.keys()]].entries()) {
    assert.ok(Math.abs(sum(titles) - Number(said[index + 1])) <= 1, `${sum(titles)} hours`);
  }
});

test('Each quote of the tour is in its file, line by line', () => {
  const tour = pages.get(TOUR)!;
  const quotes = [...tour.matchAll(/^\[?`(\S+)`(?:\]\(\S+\))?:\n\n```ts\n([^]*?)^```/gm)];
  assert.equal(quotes.length, tour.split('\n```ts\n').length - 1);
  assert.ok(quotes.length > 10);
  const trimmed = (text: string): string => text.trim().replaceAll(/ *\n */g, '\n');
  for (const [, name, quote] of quotes) {
    const path = paths.find((one) => one === name || one === `src/${name}`)!;
    let rest = `\n${trimmed(readText(path))}\n`;
    // An ellipsis stands for lines that are left out.
    for (const part of quote!.split(/^ *…\n/m)) {
      const at = rest.indexOf(`\n${trimmed(part)}\n`);
      assert.notEqual(at, -1, `${path} does not have, or not in this order:\n${part}`);
      rest = rest.slice(at);
    }
  }
});

test('The store that the page of the judge shows has its items again after a start', async (t) => {
  const folder = tempDir(t);
  const module = join(folder, 'store.mjs');
  writeFileSync(module, blockOf('scripts/judge/README.md', 'js'));
  const { open } = (await import(pathToFileURL(module).href)) as {
    open(path: string): Promise<{ add(item: object): Promise<void>; all(): readonly object[] }>;
  };
  const items = [
    { id: 1, text: 'a' },
    { id: 2, text: 'b' },
  ];
  const first = await open(join(folder, 'store'));
  for (const item of items) await first.add(item);
  assert.deepEqual((await open(join(folder, 'store'))).all(), items);
});

test('Each script begins with comments that say how to read it', () => {
  const scripts = paths.filter((path) => path.endsWith('.script'));
  assert.ok(scripts.length > 10);
  for (const path of scripts) assert.match(readText(path), /^## .*[^]*?\n\n# /, path);
});

test('Each npm command that a page shows is one of package.json', () => {
  const { scripts } = JSON.parse(readText('package.json')) as { scripts: object };
  const commands = [...Object.keys(scripts), 'ci', 'install', 'pack', 'package'];
  for (const page of pages.values()) {
    for (const [shown, name = ''] of page.matchAll(/\bnpm (?:run )?(\w+)\b/g)) {
      assert.ok(commands.includes(name), shown);
    }
  }
});

test('Each test that a page names as an example exists', () => {
  const examples = [
    ...all.matchAll(/npm test -- (?<part>\S+) --only '(?<name>[^']+)'/g),
    ...all.matchAll(/--test-name-pattern='(?<name>[^']+)' \.build\/(?<part>\S+)\.js/g),
  ];
  assert.equal(examples.length, 3);
  for (const { 0: shown, groups: { part = '', name = '' } = {} } of examples) {
    const files = paths.filter((path) => path.includes(part) && path.endsWith('.ts'));
    const isThere = files.some((path) => readText(path).includes(name));
    assert.ok(isThere, shown);
  }
});

test('The tables of the configuration have every variable with its flag, and every option', () => {
  const listed = rowsOf('README.md', 'Environment').flatMap(([variables = '', flag = '']) =>
    Array.from(variables.matchAll(/`([A-Z_]+)`/g), ([, name]) => [name, flag]),
  );
  const expected = PROCESS_SETTINGS.map(({ variable, flag }) => {
    return [variable, flag === '' ? '' : `\`--${flag}\``];
  });
  // The last row has flags alone.
  assert.deepEqual(listed.sort(), expected.sort());
  const options = String(rowsOf('src/README.md', 'Option').map(([names]) => names));
  assert.ok(OPTION_NAMES.length > 10);
  for (const name of OPTION_NAMES) assert.ok(options.includes(`\`${name}\``), name);
});

for (const [what, env, code] of [
  ['has the exit code of the tests', {}, 7],
  ['ends if the service does not start', { PETSTORE_BODY_LIMIT: 'x' }, 1],
] as const) {
  test(`The recipe for CI ${what}`, needs('curl'), async (t) => {
    const folder = tempDir(t);
    const list = '-H "Authorization: Bearer test" $URL/v1/pets';
    const npm = `#!/bin/sh\ncurl -fs ${list} && exit 7\n`;
    writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
    const port = await freePort();
    const script = `cd "$ROOT"\n${blockOf('src/extras/client/mocking.md', 'sh', 'npm test').replaceAll('8080', String(port))}`;
    const PATH = `${folder}:${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
    const all = { ...env, PATH, ROOT, URL: `http://127.0.0.1:${port}` };
    const { status, text } = run('sh', ['-c', script], all);
    assert.equal(status, code, text);
  });
}

/** What each page's commands need before the first one is typed; the service's port is returned. */
const BEFORE: Readonly<Record<string, (t: TestContext, folder: string) => Promise<number>>> = {
  'README.md': (_t, folder) => linkScripts(folder),
  'src/extras/client/mocking.md': (_t, folder) => {
    writeFileSync(join(folder, 'sample.json'), blockOf('src/extras/client/mocking.md', 'json'));
    return linkScripts(folder);
  },
  'src/core/api/retries.md': async (t) => (await openService(t, slowOnce())).port,
};

for (const [page, prepare] of Object.entries(BEFORE)) {
  test(`The commands of ${page}, pasted, print what it shows`, needs('curl'), async (t) => {
    const folder = tempDir(t);
    const port = String(await prepare(t, folder));
    const PATH = `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
    // In a process group of its own, since a signal to npm does not reach the service.
    const NODE_OPTIONS = '--import=data:text/javascript,process.stdout.isTTY=true';
    const env = { PATH, PORT: port, HOME: folder, NODE_OPTIONS };
    const options = { cwd: folder, env, detached: true };
    // Into a file: node makes a pipe that it shares with curl non-blocking, and curl loses output.
    const file = join(folder, 'printed');
    const out = openSync(file, 'a');
    t.after(() => closeSync(out));
    const printed = (): string => readFileSync(file, 'utf8');
    const shell = spawn('sh', [], { ...options, stdio: ['pipe', out, out] });
    t.after(() => process.kill(-shell.pid!, 'SIGKILL'));
    const type = async (command: string, output: string): Promise<void> => {
      const start = command === '' ? 0 : printed().length;
      const pid = /.*\(process (\d+)\)/s.exec(printed())?.[1] ?? '';
      shell.stdin!.write(`${command.replaceAll('8080', port).replace('4711', pid)}\n`);
      const shown = output.replaceAll('8080', port).replace('/home/you/petstore', folder);
      const escaped = shown.replace(/[[{()}\]|.?+*^$\\]/g, '\\$&');
      // A data file has blanks at the ends of lines, which a page does not show.
      const pattern = new RegExp(escaped.replace(VARIES, '[^ ]+').replaceAll('\n', '[ \t]*\n'));
      const isPrinted = (): boolean | Promise<boolean> =>
        pattern.test(printed().slice(start)) || sleep(20, false);
      await until(isPrinted, () => `${pattern} in ${printed()}`);
    };
    for (const [command, output] of commandsOf(page)) {
      const patient = command.replace(' 5 ', ' 3600 ').replace('--retry 60 ', '--retry 3600 ');
      // An example that times out has to reach the service first: it gets more time until it does.
      let seconds = 0.25;
      do {
        seconds *= 2;
        await type(patient.replace(' 0.004 ', ` ${seconds} `), output);
      } while (patient.includes(' 0.004 ') && !(await hasCreated(port)));
    }
  });
}

function linkScripts(folder: string): Promise<number> {
  for (const name of ['package.json', 'scripts']) symlinkSync(join(ROOT, name), join(folder, name));
  return freePort();
}

/** How many creates have reached the store below. */
let creates = 0;

/** A store that holds back the response to its first create until that is sent again. */
function slowOnce(): { readonly apiKeys: string[]; readonly store: PetStore } {
  const store = createMemoryStore();
  const createOnce: NonNullable<PetStore['createOnce']> = async (...args) => {
    const created = await store.createOnce!(...args);
    creates += 1;
    if (creates === 1) await until(() => creates === 2);
    return created;
  };
  return { apiKeys: ['secret'], store: { ...store, createOnce } };
}

/** Resolves with whether a create that has been sent has reached the store. */
async function hasCreated(port: string): Promise<boolean> {
  // The service answers this one later.
  await (await fetch(`http://127.0.0.1:${port}/livez`)).text();
  return creates > 0;
}

/** What another run prints in another way: times, process ids and UUIDs. */
const VARIES = /(?<=after )\d+|4711|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The commands in the blocks of a page, each with what it prints. A start prints a greeting. */
function commandsOf(page: string): readonly (readonly [string, string])[] {
  const [, response] = /^The response is `(.+?)`/m.exec(pages.get(page)!) ?? [];
  const commands: [string, string][] = [];
  for (const [, kind, block = ''] of pages.get(page)!.matchAll(/^```(sh|console)\n([^]*?)^```/gm)) {
    if (block.includes('npm test')) continue; // The recipe for CI.
    if (kind === 'sh') commands.push([block, response ?? 'listens on']);
    // The output of the block before.
    else if (!block.startsWith('$ ')) commands.push(['', block.trim()]);
    for (const [, command, output] of block.matchAll(/^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)/gm)) {
      commands.push([command!, output!.replace(/^\.\.\.$/m, 'listens on').trim()]);
    }
  }
  return commands;
}

test('The pages name the version of package.json', () => {
  const named = [...all.matchAll(/petstore-([0-9][\w.-]*)\.tgz|^Petstore ([0-9]\S*) listens/gm)];
  assert.ok(named.length >= 3);
  for (const [text, tarball, greeting] of named) assert.equal(tarball ?? greeting, VERSION, text);
});

test('Each check that the table of decisions names is one of the kit', () => {
  const ids = checksOf('http').map(({ id }) => id);
  const cells = rowsOf('src/core/api/README.md', 'Gap').map((row) => row.at(-1)!);
  const names = cells.flatMap((cell) => cell.match(/(?<=`)[a-z0-9-]+(?=`)/g) ?? []);
  assert.ok(names.length > 10);
  for (const name of names) assert.ok(ids.includes(`decisions/${name}`), name);
});
