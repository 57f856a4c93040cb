/**
 * The page and the reference in a real browser: what a person does there, and what they must not
 * have to fear.
 *
 * The browser is a Chromium without a window, driven by chromedriver over the W3C WebDriver
 * interface, which is HTTP and JSON: so it needs no package, and works on every Node. The tests
 * share one browser and one service. Without chromedriver they are skipped, or fail with
 * TEST_BROWSER=required, as in CI.
 *
 * When a network interface of the machine changes, also one that is not used, Chromium ends each
 * request whose connection is not made yet. A test to which that happens is run again.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, afterEach, before, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect, isDeepStrictEqual } from 'node:util';
import { freePort, KEY, openService, type Service } from '../support/http/service.ts';
import { pathOf } from '../support/process/program.ts';
import { until } from '../support/until.ts';

const isMissing = pathOf('chromedriver') === undefined;
const isSkipped = isMissing && process.env['TEST_BROWSER'] !== 'required';

/** Chromium needs the first two if it runs as root, or in a container without /dev/shm. */
const FLAGS = ['--no-sandbox', '--disable-dev-shm-usage', '--headless=new', '--disable-gpu'];

const CAPABILITIES = {
  browserName: 'chrome',
  timeouts: { pageLoad: 3_600_000, script: 3_600_000 },
  'goog:chromeOptions': { args: [...FLAGS, '--window-size=1200,900'] },
  'goog:loggingPrefs': { browser: 'SEVERE' },
};

let service: Service;
let session: string;
/** If Chromium has ended a request of this test, since the network changed. */
let isInterrupted = false;
const unreadErrors: string[] = [];

const closings: (() => unknown)[] = [];

async function openPetstore(): Promise<void> {
  const options = { page: true, prefix: '/shop' };
  service = await openService({ after: (close) => closings.push(close) }, options);
}

/** Opens the service and the browser. */
async function open(): Promise<void> {
  assert.equal(isMissing, false, 'chromedriver is not installed');
  await openPetstore();
  const port = await freePort();
  const driver = spawn('chromedriver', [`--port=${port}`], { stdio: 'ignore' });
  closings.push(() => driver.kill() && once(driver, 'exit'));
  const base = `http://127.0.0.1:${port}/`;
  const isListening = (): Promise<boolean> => fetch(base).then(Boolean, () => sleep(20, false));
  await until(isListening, () => 'chromedriver does not listen');
  const capabilities = { alwaysMatch: CAPABILITIES };
  const opened = await call('POST', `${base}session`, { capabilities });
  session = `${base}session/${(opened as { sessionId: string }).sessionId}`;
  closings.push(() => call('DELETE', session));
}

const skip = isSkipped && 'needs Chromium and chromedriver (Debian: chromium-driver)';
test('There is a real browser', { skip }, () => undefined);
if (!isSkipped) {
  before(open);
  // The width is that of the window again, the paper a screen.
  afterEach(async () => {
    await setWidth(0);
    await browser.emulate('EmulatedMedia', { media: '' });
  });
}
after(async () => {
  for (const close of closings.reverse()) await close();
});

async function call(method: string, url: string, body?: object): Promise<unknown> {
  const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
  const { value } = (await (await fetch(url, init)).json()) as { value: unknown };
  const { error, message } = (value ?? {}) as { error?: string; message?: string };
  if (error !== undefined) throw new Error(`${method} ${url}: ${error}, ${message}`);
  return value;
}

const post = (path: string, body: object): Promise<unknown> =>
  call('POST', `${session}${path}`, body);

async function find(selector: string): Promise<string> {
  const found = await post('/element', { using: 'css selector', value: selector });
  return `/element/${Object.values(found as object)[0]}`;
}

const browser = {
  open: (url: string) => post('/url', { url }),
  /** Resolves with the value of an expression in the page, as JSON. */
  value: (expression: string) =>
    post('/execute/sync', { script: `return ${expression}`, args: [] }),
  /** Clicks as a person does. Rejects if another element covers it. */
  click: async (selector: string) => post(`${await find(selector)}/click`, {}),
  /** Presses keys in the focused element; `\uE004` is Tab, `\uE007` Enter. */
  press(keys: string): Promise<unknown> {
    const press = (value: string) => ['keyDown', 'keyUp'].map((type) => ({ type, value }));
    const actions = [...keys].flatMap(press);
    return post('/actions', { actions: [{ type: 'key', id: 'keys', actions }] });
  },
  /** Replaces the text of a field. */
  async type(selector: string, text: string): Promise<void> {
    const field = await find(selector);
    await post(`${field}/clear`, {});
    await post(`${field}/value`, { text });
  },
  /** Sends a command of the DevTools protocol, which sets a way to show the page. */
  emulate: (what: string, params: object) =>
    post('/goog/cdp/execute', { cmd: `Emulation.set${what}`, params }),
  /** Resolves with the errors in the console since the last call. */
  async console(): Promise<readonly string[]> {
    await readConsole();
    return unreadErrors.splice(0);
  },
};

async function readConsole(): Promise<void> {
  const log = await post('/se/log', { type: 'browser' });
  const lines = (log as readonly { message: string }[]).map(({ message }) => message);
  unreadErrors.push(...lines);
  isInterrupted ||= lines.some((line) => line.includes('ERR_NETWORK_CHANGED'));
}

/** A test, which begins anew on a service of its own when a change of the network interrupts it. */
function inBrowser(name: string, run: (t: TestContext) => Promise<void>): void {
  if (isSkipped) return;
  void test(name, async (t) => {
    for (;;) {
      isInterrupted = false;
      try {
        return await run(t);
      } catch (error) {
        await readConsole();
        if (!isInterrupted) throw error;
        t.diagnostic('The network changed: the test begins anew');
        await openPetstore();
      }
    }
  });
}

/** Waits until an expression in the page has this value, or matches this pattern. */
async function shows(expression: string, expected: unknown = true): Promise<void> {
  let shown: unknown;
  let asked = 0;
  const isShown = async (): Promise<boolean> => {
    shown = await browser.value(expression);
    if ((asked += 1) % 100 === 0) await readConsole();
    if (isInterrupted) throw new Error('The network changed');
    const isRight =
      expected instanceof RegExp
        ? expected.test(String(shown))
        : isDeepStrictEqual(shown, expected);
    // The browser needs the processor more than the next question.
    if (!isRight) await sleep(20);
    return isRight;
  };
  await until(
    isShown,
    () =>
      `${expression} is ${inspect(shown)}, not ${inspect(expected)}; ${unreadErrors.join('; ')}`,
  );
}

/** Resolves with the addresses that the page requested. Rejects if `act` causes an error in it. */
async function requestsOf(act: () => Promise<void>): Promise<readonly string[]> {
  await browser.console();
  await act();
  assert.deepEqual(await browser.console(), []);
  const names = await browser.value('performance.getEntries().map(({ name }) => name)');
  return (names as readonly string[]).filter((name) => /^[a-z]+:[/][/]/.test(name));
}

const TAB = '\uE004';
const ENTER = '\uE007';

/** Gives the page the width of a phone or a screen. */
async function setWidth(width: number): Promise<void> {
  const size = { width, height: 0, deviceScaleFactor: 0, mobile: width > 0 && width < 500 };
  await browser.emulate('DeviceMetricsOverride', size);
}

async function openPage(address = `${service.origin}/shop/`): Promise<void> {
  await browser.open(address);
  await shows('!main.hidden');
}

async function useKey(key: string): Promise<void> {
  if ((await browser.value(KEY_CARD)) !== 'open') await browser.click('#key-card summary');
  await browser.type('#key', key);
  await browser.click('#key-form button');
}

const KEY_CARD = `document.querySelector('details[open]#key-card') ? 'open'
  : document.querySelector('#key-card').innerText.trim()`;

/** Opens the page, and waits until it shows the pets. */
async function openPets(address?: string): Promise<void> {
  await openPage(address);
  await useKey(KEY);
  await says('list', /^Response 200/);
}

/** chromedriver sometimes returns before the style sheet is applied. */
async function openReference(): Promise<void> {
  await browser.open(`${service.origin}/shop/docs`);
  await shows(`document.readyState === 'complete' && document.styleSheets.length === 1`);
}

async function addPet(name: string, category = '1', status = 'available'): Promise<void> {
  await browser.type('#name', name);
  await browser.type('#category', category);
  await browser.value(`document.querySelector('#status').value = '${status}'`);
  await browser.click('#add-form button.main');
}

/** Waits until a panel shows the words. */
async function says(panel: 'list' | 'add' | 'metrics', words: RegExp): Promise<void> {
  await shows(textOf(`#${panel}-response .words`), words);
}

const textOf = (selector: string): string => `document.querySelector('${selector}').innerText`;

/** Waits until the table has these names, and no other. */
async function lists(...names: readonly string[]): Promise<void> {
  await shows(`${NAMES}.map((cell) => cell.textContent)`, names);
}

const NAMES = `[...document.querySelectorAll('td.name')]`;

async function filterBy(status: string): Promise<void> {
  const event = `filter.dispatchEvent(new Event('change', { bubbles: true }))`;
  await browser.value(`[filter.value = '${status}', ${event}]`);
}

const FOCUSED = 'document.activeElement.id || document.activeElement.className';

async function tabTo(id: string): Promise<void> {
  for (let tabs = 0; (await browser.value(FOCUSED)) !== id; tabs += 1) {
    assert.ok(tabs < 12, `${id} cannot be reached`);
    await browser.press(TAB);
  }
}

inBrowser('With the keyboard or a screen reader a person can add a pet and see it', async () => {
  // It loads its own files only, without an error in the console.
  const requested = await requestsOf(async () => {
    await openPage();
    await tabTo('key');
    await browser.press(`${KEY}${ENTER}`);
    await says('list', /^Response 200: 0 pets\.$/);
    await shows(textOf('#empty'), 'There are no pets yet: add one.');
    await shows(KEY_CARD, 'API key accepted');
    await tabTo('name');
    await browser.press(`Rex${ENTER}`);
    await says('add', /^Response 201: pet 1 is stored/);
    await says('list', /^Response 200: 1 pet\.$/);
    await shows(textOf('#rows'), '1\tRex\t1\tavailable');
  });
  assert.ok(requested.length > 15, requested.join());
  for (const url of requested) assert.ok(url.startsWith(`${service.origin}/shop/`), url);
  // Each field has a label, and the messages are read.
  await shows(
    `[...document.querySelectorAll('input, select, button')]
      .filter((field) => field.labels?.length !== 1 && field.textContent === '')
      .map(({ id }) => id)`,
    [],
  );
  const count = (selector: string) => `document.querySelectorAll('${selector}').length`;
  await shows(count('.words[role=status][tabindex="-1"]'), 3);
  await shows(count('table > caption, th[scope=col]'), 5);
  await shows('document.documentElement.lang', 'en');
});

inBrowser('The page sends and shows an int64 exactly, and no other value', async () => {
  await openPets();
  for (const digits of ['9223372036854775807', '-9223372036854775808']) {
    await addPet('Big', digits, '');
    await says('add', /^Response 201: pet /);
    await shows(textOf('#add-response code'), new RegExp(`"categoryId":${digits}}`));
    await shows(textOf('#rows'), new RegExp(`Big\t${digits}\tnone`));
  }
  for (const wrong of ['9223372036854775808', '']) {
    await addPet('Big', wrong);
    await says('add', /^Not sent\. Category id must be a 64-bit integer\.$/);
    await shows(FOCUSED, 'words bad');
    await shows(`category.getAttribute('aria-invalid')`, 'true');
    await shows(`document.querySelector('#add-response .curl').hidden`);
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
  await shows(FOCUSED, 'caption');
  await shows(textOf('#caption'), /^Page 2/);
  await browser.click('#next');
  await says('list', /^Response 200: 10 pets\.$/);
  await shows('next.hidden');
  const wanted = `^curl -H "Authorization: Bearer \\$API_KEY" \\\\\n  '${service.origin}/shop/v1/pets\\?`;
  await shows(textOf('#list-response code'), new RegExp(`${wanted}[^']*status=sold[^']*'$`));
  await browser.click('#list-response button');
  await shows(textOf('#list-response button'), 'Copied');
  // If the browser refuses to copy, the text is selected.
  await browser.value(`navigator.clipboard.writeText = () => Promise.reject(new Error('Refused'))`);
  await browser.click('#list-response button');
  await shows(textOf('#list-response button'), /^Selected/);
  await shows('String(getSelection())', /^curl /);
  await browser.click('#previous');
  await lists(...names.slice(20, 40));
  await browser.click('#previous');
  await lists(...names.slice(0, 20));
  await filterBy('pending');
  await shows(textOf('#empty'), 'No pet is pending.');
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
  await shows(FOCUSED, 'words bad');
  // The pets that the previous key showed are gone.
  await shows('pets.hidden');
  await browser.click('#metrics');
  await says('metrics', /^Response 401, unauthorized: /);
  const complaints = (await browser.console()).filter((line) => !line.includes('status of 401 '));
  assert.deepEqual(complaints, []);
});

/** Lets the page send no request until `held[index]()`. With true the response is lost. */
const HOLD = `(() => {
  const send = fetch;
  window.held = [];
  fetch = (...request) => new Promise((answer, fail) => held.push((isLost) => {
    const sent = send(...request);
    if (isLost) sent.then(() => fail(new TypeError('Lost')));
    else answer(sent);
  }));
})()`;

inBrowser('A create that is sent again, after a lost response, stores one pet', async () => {
  await openPets();
  const count = async (): Promise<number> => (await service.app.pets.count()).total;
  const total = await count();
  await browser.value(HOLD);
  let sent = 0;
  /** Resolves with the idempotency key of the curl line. */
  const add = async (name: string): Promise<string | undefined> => {
    await addPet(name);
    await shows('held.length', (sent += 1));
    const line = String(await browser.value(textOf('#add-response code')));
    return /Idempotency-Key: ([^']{20,})'/.exec(line)?.[1];
  };
  const once = await add('Once');
  await browser.value('held[0](true)');
  await says('add', /^No response, network_failure: .* whether the pet was added is not known/);
  // Another content has another key, and does not lose the first one.
  const twice = await add('Twice');
  await browser.value('held[1](true)');
  await says('add', /^No response/);
  assert.equal(await add('Once'), once);
  // A second click while the first create is in progress.
  await browser.click('#add-form button.main');
  await shows('held.length', (sent += 1));
  await browser.type('#name', 'Mia');
  await browser.value('[held[2](), held[3]()]');
  await says('add', /^Response 201: pet /);
  await shows(`document.querySelector('#name').value`, 'Mia');
  assert.equal(await count(), total + 2);
  await shows(
    `document.querySelector('#add-response .received').textContent`,
    /201 Created\n.*\nLocation: \/shop\/v1\/pets\/[0-9]+\nIdempotent-Replayed: true\n/,
  );
  // The same pet once more is another create, also if its response came after that of a later one.
  await shows('held.length', (sent += 1));
  const keys = [once, twice, await add('Once'), await add('Other')];
  await browser.value('[held[6](), held[5]()]');
  await says('add', /^Response 201/);
  await addPet('Once');
  await shows(
    `${JSON.stringify(keys)}.some((key) => ${textOf('#add-response code')}.includes(key))`,
    false,
  );
  assert.equal(new Set(keys.filter(Boolean)).size, 4, keys.join());
  assert.equal(await count(), total + 4);
});

inBrowser('The page shows the newest list, and no list after a failure', async () => {
  await openPets();
  await browser.value(HOLD);
  for (const sent of [1, 2]) {
    await browser.click('#refresh');
    await shows('held.length', sent);
  }
  await browser.value('held[1]()');
  await says('list', /^Response 200/);
  await browser.value('held[0](true)');
  await says('list', /^Response 200/);
  await shows('pets.hidden', false);
  await filterBy('sold');
  await shows('held.length', 3);
  await browser.value('held[2](true)');
  await says('list', /^No response, network_failure: /);
  await shows('pets.hidden');
});

inBrowser('The page shows the metrics, or in words why the request was lost', async () => {
  await openPets();
  await browser.click('#metrics');
  await says('metrics', /^Response 200\.$/);
  await shows(textOf('#metrics-response .received pre'), /^petstore_pets\{/m);
  // A minute passes at once, and the response does not come.
  await browser.value(`((wait) => {
    setTimeout = (act, ms) => wait(act, ms / 1000);
    fetch = (_url, { signal }) => new Promise((_answer, fail) =>
      signal.addEventListener('abort', () => fail(signal.reason)));
  })(setTimeout)`);
  await browser.click('#metrics');
  await says('metrics', /^No response, timeout: metrics at .* took longer than 30000 ms\.$/);
  await shows(textOf('#metrics-response code'), /\/metrics'$/);
});

inBrowser('The page keeps a key only if the visitor wants that, and never shows it', async () => {
  const [session, elsewhere] = [
    'JSON.stringify(sessionStorage)',
    'JSON.stringify(localStorage) + location.href + document.cookie + document.body.innerText',
  ];
  const isHidden = async (): Promise<void> =>
    assert.ok(!String(await browser.value(elsewhere)).includes(KEY));
  await openPets();
  await isHidden();
  await shows(session, '{}');
  await browser.click('#key-card summary');
  await browser.click('#keep');
  await openPage(`${service.origin}/shop/?again#there`);
  await says('list', /^Response 200/);
  await isHidden();
  await shows(session, `{"petstore-key /shop/v1/":"${KEY}"}`);
  // A key that the service refuses is not kept, nor is the one before.
  await useKey('wrong-key');
  await says('list', /^Response 401/);
  await shows(session, '{}');
  // Nor is a kept one that the service refuses from now on.
  await browser.value(`sessionStorage['petstore-key /shop/v1/'] = 'revoked'`);
  await openPage();
  await says('list', /^Response 401/);
  await shows(session, '{}');
  await useKey(KEY);
  await says('list', /^Response 200/);
  await browser.click('#key-card summary');
  await browser.click('#forget');
  await shows(`!main.hidden && key.value === '' && sessionStorage.length === 0`);
  await openPage();
  await shows('key.value', '');
});

inBrowser('A name is text: it cannot make the page high, hide anything or be markup', async () => {
  const long = ['\n'.repeat(10_000), 'x'.repeat(10_000), 'a\u200B'.repeat(2_000)];
  /** Each name with its marks. */
  const short = {
    '<img src=x onerror=hit=1>': '',
    '<script>hit=1</script>': '',
    نمر: '',
    'a\u202Eb': 'U+202E',
    '   ': '␣␣␣',
    'two  spaces ': '␣␣,␣',
    'one space': '',
    '👩🏽\u200D🚀 ❤\uFE0F': '',
    'é\u200B\u200B': 'U+200B × 2',
  };
  const { total } = await service.app.pets.count();
  for (const name of [...long, ...Object.keys(short)]) {
    await service.app.pets.create({ name, categoryId: 1, status: 'sold' });
  }
  await openPets(`${service.origin}/shop/?after=${total}`);
  await says('list', /^Response 200: 12 pets\.$/);
  await shows(`${NAMES}.every((cell) => cell.offsetHeight < 160)`);
  await shows(
    `${NAMES}.slice(3).map((cell) => [cell.textContent,
      [...cell.querySelectorAll('[data-mark]')].map(({ dataset }) => dataset.mark).join()])`,
    Object.entries(short),
  );
  await shows('typeof hit + document.images.length', 'undefined0');
  // A long name is shown whole on demand, in a part of its own that scrolls.
  await shows(
    `${NAMES}.slice(0, 3).map((cell) => cell.textContent.slice(-19))`,
    long.map((name) => ` … (${name.length} characters)`.slice(-19)),
  );
  for (const row of [1, 3]) {
    await browser.click(`tr:nth-child(${row}) td summary`);
    const whole = `document.querySelector('tr:nth-child(${row}) td p').textContent`;
    await shows(`${whole} === ${JSON.stringify(long[row - 1])}`);
  }
  await shows('document.documentElement.scrollHeight < 4000');
});

inBrowser('After a create the page shows the pet, and it shows a list from any id on', async () => {
  await openPets();
  await addPet('Far', '1', 'sold');
  await says('add', /^Response 201: pet [0-9]+ is stored\.$/);
  const { total } = await service.app.pets.count();
  await browser.click('#show');
  await lists('Far');
  await shows(FOCUSED, 'caption');
  await shows('[location.search, from.value]', [`?after=${total - 1}`, `${total}`]);
  await browser.type('#from', `${total + 1}\n`);
  await shows(textOf('#empty'), `No pet with an id from ${total + 1} on exists.`);
});

/** What the two controls of the list show, and the query of the page. */
const ASKED = '[filter.value, from.value, location.search]';

inBrowser(
  'The controls show what was asked: after Back, Forward, a reload and a wrong value',
  async () => {
    const { total } = await service.app.pets.count();
    await openPets();
    await filterBy('sold');
    await shows(ASKED, ['sold', '', '?status=sold']);
    await browser.type('#from', '5\n');
    await shows(ASKED, ['sold', '5', '?status=sold&after=4']);
    await browser.value('history.back()');
    await shows(ASKED, ['sold', '', '?status=sold']);
    await browser.value('history.forward()');
    await shows(ASKED, ['sold', '5', '?status=sold&after=4']);
    // A value that is typed, and not asked for yet, does not stay.
    await browser.value(`from.value = '9'`);
    await browser.value('history.back()');
    await shows(ASKED, ['sold', '', '?status=sold']);
    // Nor does a wrong one, nor its mark.
    await browser.type('#from', 'x\n');
    await says('list', /^Not sent\. From id must be a 64-bit integer\.$/);
    await shows(`from.getAttribute('aria-invalid')`, 'true');
    await browser.value('history.back()');
    await shows(ASKED, ['', '', '']);
    await shows(`from.getAttribute('aria-invalid')`, 'false');
    // On a later page it is where page 1 began, also after a reload and a refresh.
    for (let n = 0; n < 41; n += 1) await service.app.pets.create({ name: `P${n}`, categoryId: 1 });
    const from = `${total + 2}`;
    await browser.type('#from', `${from}\n`);
    await says('list', /^Response 200: 20 pets, /);
    await browser.click('#next');
    await shows(textOf('#caption'), /^Page 2/);
    await shows(`${ASKED}.slice(0, 2)`, ['', from]);
    await browser.value('[window.isOld = true, location.reload()]');
    await shows('window.isOld === undefined && !main.hidden');
    await shows(`${ASKED}.slice(0, 2)`, ['', from]);
    await useKey(KEY);
    await says('list', /^Response 200: 20 pets/);
    await shows(textOf('#caption'), /^Page 2/);
    await browser.click('#refresh');
    await says('list', /^Response 200: 20 pets/);
    // Nor does the link for keyboards ask for another page.
    await browser.value(`document.querySelector('.skip').focus()`);
    await browser.press(ENTER);
    await shows(`[document.activeElement.id, location.hash]`, ['main', '']);
    await filterBy('available');
    await shows(ASKED, ['available', from, `?status=available&after=${total + 1}`]);
    // What an address asks for is shown, though it is wrong: the service says so.
    await openPage(`${service.origin}/shop/?status=lost&after=x`);
    await useKey(KEY);
    await says('list', /^Response 400, invalid_parameter: /);
    await shows(ASKED, ['lost', 'x', '?status=lost&after=x']);
    const last = '9223372036854775807';
    await openPage(`${service.origin}/shop/?after=${last}`);
    await shows(ASKED, ['', last, `?after=${last}`]);
  },
);

const TOO_WIDE = `[...document.querySelectorAll('body *')]
  .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1)
  .map((element) => element.outerHTML.slice(0, 80))
  .concat(root.scrollWidth > root.clientWidth ? ['The page scrolls'] : [])`;

const BACKGROUNDS = { light: 'rgb(244, 246, 248)', dark: 'rgb(17, 21, 26)' };

inBrowser('The page and the reference fit phones, screens and paper, light and dark', async () => {
  // A line cannot break within one letter and its combining characters.
  for (const name of ['A'.repeat(300), `a${'\u0489'.repeat(300)}`]) {
    await service.app.pets.create({ name, categoryId: 1, status: 'pending' });
  }
  const fits = async (widths: readonly number[]): Promise<void> => {
    for (const width of widths) {
      await setWidth(width);
      for (const [value, background] of Object.entries(BACKGROUNDS)) {
        const features = [{ name: 'prefers-color-scheme', value }];
        await browser.emulate('EmulatedMedia', { features });
        await shows('getComputedStyle(document.body).backgroundColor', background);
        await shows(`((root) => ${TOO_WIDE})(document.documentElement)`, []);
      }
    }
  };
  await openPets(`${service.origin}/shop/?status=pending`);
  await says('list', /^Response 200: 2 pets\.$/);
  await fits([320, 768, 1400]);
  // On paper the page has the pets, without forms and requests.
  await browser.emulate('EmulatedMedia', { media: 'print' });
  await shows(
    `['#table', 'form', 'button', '.curl', '#key-card', '#more'].filter((selector) =>
      [...document.querySelectorAll(selector)].some((element) => element.offsetHeight > 0))`,
    ['#table'],
  );
  await browser.emulate('EmulatedMedia', { media: '' });
  await openReference();
  await fits([1400, 768]);
  // On a phone, its contents are folded.
  await setWidth(320);
  await openReference();
  await fits([320]);
});

inBrowser('The reference loads its own files only, and shows the address it has', async () => {
  const requested = await requestsOf(async () => {
    await openReference();
    await shows(`document.body.innerText.includes("PETSTORE='${service.origin}'")`);
    await browser.click('#as-javascript');
    const text = String(await browser.value(textOf('main')));
    assert.ok(text.includes(`baseUrl = '${service.origin}/shop/v1'`));
    assert.ok(text.includes('client.listPets(') && !text.includes('"$PETSTORE/shop/v1/pets'));
    await browser.click('#listPets .javascript-sample button');
    await shows(textOf('#listPets .javascript-sample button'), 'Copied');
    // The current section is marked, and on a phone the contents are folded.
    await browser.value(`document.querySelector('#getPet').scrollIntoView()`);
    await shows(textOf('.contents [aria-current=true]'), /\{petId\}$/);
    await shows(`document.querySelector('.contents').open`);
    await setWidth(360);
    await openReference();
    await shows(`document.querySelector('.contents').open`, false);
  });
  const modules = ['page/extras/web/page/element.js', 'page/extras/web/page/reference.js'];
  const paths = ['docs', ...modules, 'page/style.css'];
  const expected = paths.map((path) => `${service.origin}/shop/${path}`);
  assert.deepEqual([...requested].sort(), expected);
});

inBrowser('Without JavaScript the page links to the reference, also for paper', async (t) => {
  const disable = (value: boolean) => browser.emulate('ScriptExecutionDisabled', { value });
  await disable(true);
  t.after(() => disable(false));
  await browser.open(`${service.origin}/shop/`);
  await shows(textOf('body'), /The reference has a\s+curl line for each operation/);
  // The browser applies the style for pages without scripts a moment after the page is loaded.
  await shows(`${textOf('body')}.includes('Loading')`, false);
  await browser.click('noscript a');
  for (const media of ['', 'print']) {
    await browser.emulate('EmulatedMedia', { media });
    const text = String(await browser.value(textOf('body')));
    for (const words of ['curl -H "Auth', 'GET /shop/v1/pets', 'at most 100', "PETSTORE='http"]) {
      assert.ok(text.includes(words), words);
    }
    await shows(`document.querySelector('nav').offsetHeight > 0`, media === '');
  }
});
