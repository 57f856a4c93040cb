/**
 * The page and the reference in a real browser: what a person does there, and what they must not
 * have to fear.
 */

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { createHttpServer } from '../../src/http/http-server.ts';
import {
  browser,
  inBrowser,
  inLightAndDark,
  requestsOf,
  service,
  setWidth,
  until,
  untilTrue,
  useBrowser,
} from '../support/browser/in-browser.ts';
import { KEY, listenFor, openService } from '../support/http/service.ts';

const TAB = '\uE004';
const ENTER = '\uE007';

useBrowser('The page and the reference', { page: true, prefix: '/shop' });

async function openPage(path = '/'): Promise<void> {
  await browser.open(`${service.origin}/shop${path}`);
  await untilTrue('return !main.hidden');
}

async function useKey(key: string): Promise<void> {
  if ((await keyCard()) !== 'open') await browser.click('#key-card summary');
  await browser.type('#key', key);
  await browser.click('#key-form button');
}

const keyCard = async (): Promise<unknown> =>
  browser.run(`const card = document.querySelector('#key-card');
    return card.open ? 'open' : card.innerText.trim()`);

/** Opens the page, and waits until it shows the pets. */
async function openPets(): Promise<void> {
  await openPage();
  await useKey(KEY);
  await says('list', /^Response 200/);
}

/** chromedriver sometimes returns before the style sheet is applied. */
async function openReference(): Promise<void> {
  await browser.open(`${service.origin}/shop/docs`);
  await untilTrue(`return document.readyState === 'complete' && document.styleSheets.length === 1`);
}

async function addPet(name: string, category = '1', status = 'available'): Promise<void> {
  await browser.type('#name', name);
  await browser.type('#category', category);
  await browser.run('document.querySelector("#status").value = arguments[0]', status);
  await browser.click('#add-form button.main');
}

/** Waits until a panel shows the words. */
async function says(panel: 'list' | 'add' | 'metrics', words: RegExp): Promise<void> {
  let text = '';
  const isSaid = async (): Promise<boolean> => {
    text = await browser.text(`#${panel}-response .words`);
    return words.test(text);
  };
  await until(isSaid, () => `${words} is not in: ${text}`);
}

/** Waits until the table has these names, and no other. */
async function lists(...names: readonly string[]): Promise<void> {
  const shown = 'return [...document.querySelectorAll("td.name")].map((cell) => cell.textContent)';
  await until(async () => isDeepStrictEqual(await browser.run(shown), names));
}

async function filterBy(status: string): Promise<void> {
  await browser.run(
    `filter.value = arguments[0]; filter.dispatchEvent(new Event('change', { bubbles: true }))`,
    status,
  );
}

const focused = async (): Promise<unknown> =>
  browser.run('const { id, className } = document.activeElement; return id || className');

async function tabTo(id: string): Promise<void> {
  for (let tabs = 0; (await focused()) !== id; tabs += 1) {
    assert.ok(tabs < 12, `${id} cannot be reached`);
    await browser.press(TAB);
  }
}

inBrowser('With the keyboard alone a person can enter a key, add a pet and see it', async () => {
  // It loads its own files only, without an error in the console.
  const requested = await requestsOf(async () => {
    await openPage();
    await tabTo('key');
    await browser.press(`${KEY}${ENTER}`);
    await says('list', /^Response 200: 0 pets\.$/);
    assert.equal(await browser.text('#empty'), 'There are no pets yet: add one.');
    assert.equal(await keyCard(), 'API key accepted');
    await tabTo('name');
    await browser.press(`Rex${ENTER}`);
    await says('add', /^Response 201: pet 1 is stored/);
    await says('list', /^Response 200: 1 pet\.$/);
    assert.equal(await browser.text('#rows'), '1\tRex\t1\tavailable');
  });
  assert.ok(requested.length > 15, requested.join());
  for (const url of requested) assert.ok(url.startsWith(`${service.origin}/shop/`), url);
});

inBrowser('The page sends and shows an int64 exactly, and no other value', async () => {
  await openPets();
  for (const [id, digits] of [
    [2, '9223372036854775807'],
    [3, '-9223372036854775808'],
  ] as const) {
    await addPet('Big', digits, '');
    await says('add', new RegExp(`^Response 201: pet ${id} `));
    assert.ok((await browser.text('#add-response code')).includes(`"categoryId":${digits}}`));
    await until(async () => (await browser.text('#rows')).includes(`Big\t${digits}\tnone`));
  }
  for (const wrong of ['9223372036854775808', '1.5', 'x', '']) {
    await addPet('Big', wrong);
    await says('add', /^Not sent\. Category id must be a 64-bit integer\.$/);
    assert.equal(await focused(), 'words bad');
    const shown = await browser.run(`return [category.getAttribute('aria-invalid'),
      document.querySelector('#add-response .curl').hidden]`);
    assert.deepEqual(shown, ['true', true]);
  }
});

inBrowser('The filter and the buttons show the pets that the curl line requests', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `Sold ${index}`);
  for (const name of names) {
    await service.app.pets.create({ name, categoryId: 1, status: 'sold' });
  }
  await openPets();
  await says('list', /^Response 200: 20 pets, and there are more\.$/);
  await filterBy('sold');
  await lists(...names.slice(0, 20));
  await browser.click('#next');
  await lists(...names.slice(20, 40));
  assert.equal(await focused(), 'caption');
  assert.match(await browser.text('#caption'), /^Page 2/);
  await browser.click('#next');
  await says('list', /^Response 200: 10 pets\.$/);
  assert.equal(await browser.run('return next.hidden'), true);
  const line = await browser.text('#list-response code');
  const wanted = `^curl -H "Authorization: Bearer \\$API_KEY" \\\\\n  '${service.origin}/shop/v1/pets\\?`;
  assert.match(line, new RegExp(`${wanted}[^']*status=sold[^']*'$`));
  await browser.click('#list-response button');
  await until(async () => (await browser.text('#list-response button')) === 'Copied');
  // If the browser refuses to copy, the text is selected.
  await browser.run(`navigator.clipboard.writeText = () => Promise.reject(new Error('Refused'))`);
  await browser.click('#list-response button');
  await until(async () => (await browser.text('#list-response button')).startsWith('Selected'));
  assert.match(String(await browser.run('return String(getSelection())')), /^curl /);
  await browser.click('#previous');
  await lists(...names.slice(20, 40));
  await browser.click('#previous');
  await lists(...names.slice(0, 20));
  await browser.run('history.forward()');
  await lists(...names.slice(20, 40));
  await browser.open(String(await browser.run('return location.href')));
  await useKey(KEY);
  await lists(...names.slice(20, 40));
  assert.equal(await browser.run('return filter.value'), 'sold');
  await browser.click('#previous');
  await lists(...names.slice(0, 20));
  await filterBy('pending');
  await until(async () => (await browser.text('#empty')) === 'No pet is pending.');
  assert.equal(await browser.run('return empty.hidden'), false);
});

inBrowser('An error about a key is shown in words, and gets the focus', async () => {
  await openPage();
  await browser.click('#key-form button');
  await says('list', /^Not sent\. Enter an API key first\.$/);
  await useKey(KEY);
  await says('list', /^Response 200/);
  await browser.console();
  await useKey('wrong-key');
  await says('list', /^Response 401, unauthorized: /);
  assert.equal(await focused(), 'words bad');
  // The pets that the previous key showed are gone.
  assert.equal(await browser.run('return pets.hidden'), true);
  await browser.click('#metrics');
  await says('metrics', /^Response 401, unauthorized: /);
  const complaints = await browser.console();
  assert.equal(complaints.length, 2);
  for (const line of complaints) assert.match(line, /status of 401 /);
});

/** Lets the page send no request until `held[index]()`. With true the response is lost. */
const HOLD = `const send = fetch;
  window.held = [];
  fetch = (...request) => new Promise((answer, fail) => held.push((isLost) => {
    const sent = send(...request);
    if (isLost) sent.then(() => fail(new TypeError('Lost')));
    else answer(sent);
  }));`;
const heldNow = (count: number) => untilTrue(`return held.length === ${count}`);

inBrowser('A create that is sent again, after a lost response, stores one pet', async () => {
  await openPets();
  const { total } = await service.app.pets.count();
  await browser.run(HOLD);
  const keyInLine = async (): Promise<string | undefined> =>
    /Idempotency-Key: ([^']+)'/.exec(await browser.text('#add-response code'))?.[1];
  await addPet('Once');
  await heldNow(1);
  const key = await keyInLine();
  assert.ok(key !== undefined && key.length > 20, key);
  await browser.run('held[0](true)');
  await says('add', /^No response, network_failure: .* whether the pet was added is not known/);
  // Another content has another key, and does not lose the first one.
  await addPet('Twice');
  await heldNow(2);
  assert.notEqual(await keyInLine(), key);
  await browser.run('held[1](true)');
  await says('add', /^No response/);
  await addPet('Once');
  await heldNow(3);
  assert.equal(await keyInLine(), key);
  // A second click while the first create is in progress.
  await browser.click('#add-form button.main');
  await heldNow(4);
  await browser.run('held[2](), held[3]()');
  await says('add', /^Response 201: pet /);
  assert.match(await browser.text('#add-response .curl'), /Idempotency-Key/);
  await until(async () => (await service.app.pets.count()).total === total + 2);
  const received = await browser.run(
    'return document.querySelector("#add-response .received").textContent',
  );
  assert.match(
    String(received),
    /201 Created\n.*\nLocation: \/shop\/v1\/pets\/[0-9]+\nIdempotent-Replayed: true\n/,
  );
  // The same pet once more is another create, also if its response came after that of a later one.
  await heldNow(5);
  const keys = new Set<string | undefined>([key]);
  for (const [index, name] of ['Once', 'Other'].entries()) {
    await addPet(name);
    await heldNow(6 + index);
    keys.add(await keyInLine());
  }
  await browser.run('held[6](), held[5]()');
  await until(async () => (await service.app.pets.count()).total === total + 4);
  await says('add', /^Response 201/);
  await addPet('Once');
  await until(async () => keys.add(await keyInLine()).size === 4);
});

inBrowser('The page shows the newest list, and no list after a failure', async () => {
  await openPets();
  await browser.run(HOLD);
  await browser.click('#refresh');
  await heldNow(1);
  await browser.click('#refresh');
  await heldNow(2);
  await browser.run('held[1]()');
  await says('list', /^Response 200/);
  await browser.run('held[0](true)');
  await says('list', /^Response 200/);
  assert.equal(await browser.run('return pets.hidden'), false);
  await filterBy('sold');
  await heldNow(3);
  await browser.run('held[2](true)');
  await says('list', /^No response, network_failure: /);
  assert.equal(await browser.run('return pets.hidden'), true);
});

inBrowser('The page shows the metrics, or in words why the request was lost', async () => {
  await openPets();
  await browser.click('#metrics');
  await says('metrics', /^Response 200\.$/);
  assert.match(await browser.text('#metrics-response .received pre'), /^petstore_pets\{/m);
  // A minute passes at once, and the response does not come.
  await browser.run(`const wait = setTimeout;
    setTimeout = (act, ms) => wait(act, ms / 1000);
    fetch = (_url, { signal }) => new Promise((_answer, fail) =>
      signal.addEventListener('abort', () => fail(signal.reason)));`);
  await browser.click('#metrics');
  await says('metrics', /^No response, timeout: metrics at .* took longer than 30000 ms\.$/);
  assert.match(await browser.text('#metrics-response code'), /\/metrics'$/);
});

inBrowser('The page keeps a key only if the visitor wants that, and never shows it', async () => {
  const storages = `return [sessionStorage, localStorage].map((storage) => JSON.stringify(storage))
    .concat(location.href, document.cookie, document.body.innerText)`;
  await openPets();
  for (const content of (await browser.run(storages)) as string[])
    assert.ok(!content.includes(KEY), content);
  await browser.click('#key-card summary');
  await browser.click('#keep');
  await openPage('/?again#there');
  await says('list', /^Response 200/);
  const [session, ...others] = (await browser.run(storages)) as [string, ...string[]];
  assert.equal(session, `{"petstore-key /shop/v1/":"${KEY}"}`);
  for (const content of others) assert.ok(!content.includes(KEY), content);
  // A key that the service refuses is not kept, nor is the one before.
  await useKey('wrong-key');
  await says('list', /^Response 401/);
  assert.equal(await browser.run('return JSON.stringify(sessionStorage)'), '{}');
  // Nor is a kept one that the service refuses from now on.
  await browser.run(`sessionStorage['petstore-key /shop/v1/'] = 'revoked'`);
  await openPage();
  await says('list', /^Response 401/);
  assert.equal(await browser.run('return JSON.stringify(sessionStorage)'), '{}');
  await useKey(KEY);
  await says('list', /^Response 200/);
  await browser.click('#key-card summary');
  await browser.click('#forget');
  await untilTrue(`return !main.hidden && key.value === '' && sessionStorage.length === 0`);
  await openPage();
  assert.equal(await browser.run('return key.value'), '');
});

inBrowser('The page sends a kept key to its own base address only', async (t) => {
  const { app } = await openService(t, { page: true, prefix: '/other' });
  const both = createHttpServer((request, response) => {
    const isOther = request.url!.startsWith('/other/');
    (isOther ? app : service.app).listener(request, response);
  });
  const origin = `http://127.0.0.1:${await listenFor(t, both)}`;
  await browser.open(`${origin}/shop/`);
  await untilTrue('return !main.hidden');
  await browser.click('#keep');
  await useKey(KEY);
  await says('list', /^Response 200/);
  const requested = await requestsOf(async () => {
    await browser.open(`${origin}/other/`);
    await untilTrue('return !main.hidden');
  });
  assert.ok(requested.length > 10);
  assert.deepEqual(
    requested.filter((url) => url.includes('/v1/')),
    [],
  );
  assert.equal(await browser.run('return key.value'), '');
  await browser.open(`${origin}/shop/`);
  await says('list', /^Response 200/);
});

inBrowser('A name is text: it cannot make the page high, hide anything or be markup', async () => {
  const names = ['\n'.repeat(60_000), 'x'.repeat(60_000), 'a\u200B'.repeat(10_000)];
  const short = [
    '<img src=x onerror=hit=1>',
    '<script>hit=1</script>',
    'نمر',
    'a\u202Eb',
    '   ',
    'two  spaces ',
    'one space',
    '👩🏽\u200D🚀 ❤\uFE0F',
    'é\u200B\u200B',
  ];
  for (const name of [...names, ...short]) {
    await service.app.pets.create({ name, categoryId: 1, status: 'sold' });
  }
  const { total } = await service.app.pets.count();
  await openPage(`/?after=${total - names.length - short.length}`);
  await useKey(KEY);
  await says('list', /^Response 200: 12 pets\.$/);
  const cells = 'const cells = [...document.querySelectorAll("td.name")];';
  const heights = (await browser.run(
    `${cells} return cells.map((cell) => cell.offsetHeight)`,
  )) as number[];
  for (const height of heights) assert.ok(height < 160, heights.join());
  assert.deepEqual(
    await browser.run(`${cells} return cells.slice(3).map((cell) => cell.textContent)`),
    short,
  );
  assert.deepEqual(
    await browser.run(`${cells} return cells.slice(3).map((cell) =>
      [...cell.querySelectorAll('[data-mark]')].map(({ dataset }) => dataset.mark).join())`),
    ['', '', '', 'U+202E', '␣␣␣', '␣␣,␣', '', '', 'U+200B × 2'],
  );
  assert.equal(await browser.run('return typeof hit + document.images.length'), 'undefined0');
  // A long name is shown whole on demand, in a part of its own that scrolls.
  await browser.click('td.name summary');
  await untilTrue(`return document.querySelector('td.name p').textContent === '\\n'.repeat(60000)`);
  await browser.click('tr:nth-child(3) summary');
  await untilTrue(
    `return document.querySelector('tr:nth-child(3) p').textContent.length === 20000`,
  );
  assert.ok(Number(await browser.run('return document.documentElement.scrollHeight')) < 4000);
});

inBrowser('After a create the page shows the pet, and it shows a list from any id on', async () => {
  await openPets();
  await addPet('Far', '1', 'sold');
  await says('add', /^Response 201: pet [0-9]+ is stored\.$/);
  const { total } = await service.app.pets.count();
  await browser.click('#show');
  await lists('Far');
  assert.equal(await focused(), 'caption');
  assert.equal(await browser.run('return location.search'), `?after=${total - 1}`);
  assert.equal(await browser.run('return from.value'), `${total}`);
  await browser.type('#from', `${total + 1}\n`);
  await until(
    async () => (await browser.text('#empty')) === `No pet with an id from ${total + 1} on exists.`,
  );
  await browser.type('#from', 'x\n');
  await says('list', /^Not sent\. From id must be a 64-bit integer\.$/);
  // Back over the two lists above, and over the one of the empty field between them.
  await browser.run('history.go(-3)');
  await lists('Far');
});

inBrowser('A screen reader has a label for each field, and reads the messages', async () => {
  await openPage();
  const nameless = await browser.run(`return [...document.querySelectorAll('input, select, button')]
    .filter((field) => field.labels?.length !== 1 && field.textContent === '')
    .map(({ id }) => id)`);
  assert.deepEqual(nameless, []);
  const count = 'return document.querySelectorAll(arguments[0]).length';
  assert.equal(await browser.run(count, '.words[role=status][tabindex="-1"]'), 3);
  assert.equal(await browser.run(count, 'table > caption, th[scope=col]'), 5);
  assert.equal(await browser.run('return document.documentElement.lang'), 'en');
});

inBrowser('The page and the reference fit a phone and a wide screen, light and dark', async (t) => {
  // A line cannot break within one letter and its combining characters.
  for (const name of ['A'.repeat(300), `a${'\u0489'.repeat(300)}`]) {
    await service.app.pets.create({ name, categoryId: 1, status: 'pending' });
  }
  const openPending = async (): Promise<void> => {
    await openPets();
    await filterBy('pending');
    await says('list', /^Response 200: 2 pets\.$/);
  };
  const tooWide = `const { clientWidth, scrollWidth } = document.documentElement;
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
      .map((element) => element.outerHTML.slice(0, 80))
      .concat(scrollWidth > clientWidth ? ['The page scrolls'] : []);`;
  for (const width of [320, 768, 1400]) {
    await setWidth(t, width);
    for (const open of [openPending, openReference]) {
      await open();
      await inLightAndDark(async (mode) => {
        assert.deepEqual(await browser.run(tooWide), [], `${width} ${mode} ${open.name}`);
      });
    }
  }
});

inBrowser('The reference loads its own files only, and shows the address it has', async (t) => {
  const requested = await requestsOf(async () => {
    await openReference();
    await untilTrue(`return document.body.innerText.includes("PETSTORE='${service.origin}'")`);
    await browser.click('#as-javascript');
    const text = await browser.text('main');
    assert.ok(text.includes(`baseUrl = '${service.origin}/shop/v1'`));
    assert.ok(text.includes('client.listPets(') && !text.includes('"$PETSTORE/shop/v1/pets'));
    await browser.click('#listPets .javascript-sample button');
    await until(
      async () => (await browser.text('#listPets .javascript-sample button')) === 'Copied',
    );
    // The current section is marked, and on a phone the contents are folded.
    await browser.run(`document.querySelector('#getPet').scrollIntoView()`);
    await until(async () =>
      (await browser.text('.contents [aria-current=true]')).endsWith('{petId}'),
    );
    const isOpen = `return document.querySelector('.contents').open`;
    assert.equal(await browser.run(isOpen), true);
    await setWidth(t, 360);
    await openReference();
    await until(async () => (await browser.run(isOpen)) === false);
  });
  const modules = ['page/web/page/element.js', 'page/web/page/reference.js'];
  const paths = ['docs', 'page/style.css', ...modules];
  const expected = paths.map((path) => `${service.origin}/shop/${path}`);
  assert.deepEqual([...requested].sort(), expected);
});

inBrowser('Without JavaScript the page links to the reference, also for paper', async (t) => {
  const disable = (value: boolean) =>
    browser.command('Emulation.setScriptExecutionDisabled', { value });
  await disable(true);
  t.after(() => disable(false));
  t.after(() => browser.command('Emulation.setEmulatedMedia', { media: '' }));
  await browser.open(`${service.origin}/shop/`);
  assert.match(await browser.text('body'), /The reference has a\s+curl line for each operation/);
  // The browser applies the style for pages without scripts a moment after the page is loaded.
  await untilTrue("return !document.body.innerText.includes('Loading')");
  await browser.click('noscript a');
  for (const media of ['', 'print']) {
    await browser.command('Emulation.setEmulatedMedia', { media });
    const text = await browser.text('body');
    for (const words of ['curl -H "Auth', 'GET /shop/v1/pets', 'at most 100', "PETSTORE='http"]) {
      assert.ok(text.includes(words), words);
    }
    const isNavShown = await browser.run('return document.querySelector("nav").offsetHeight > 0');
    assert.equal(isNavShown, media === '');
  }
});

inBrowser('On paper the page has the pets, without forms and requests', async (t) => {
  await openPets();
  t.after(() => browser.command('Emulation.setEmulatedMedia', { media: '' }));
  await browser.command('Emulation.setEmulatedMedia', { media: 'print' });
  const shown = `return ['#table', 'form', 'button', '.curl', '#key-card', '#more'].map((selector) =>
    [...document.querySelectorAll(selector)].some((element) => element.offsetHeight > 0))`;
  assert.deepEqual(await browser.run(shown), [true, false, false, false, false, false]);
});
