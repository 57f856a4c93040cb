/** The page in a real browser: what a person does there, and what they must not have to fear. */

import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import { browserProblem, openBrowser, type Browser } from '../support/browser/browser.ts';
import { KEY, startService, type Service } from '../support/http/service.ts';

const TAB = '\uE004';
const ENTER = '\uE007';

const problem = browserProblem();
// Where a browser was installed for the tests, to pass over them would be a lie.
const isSkipped = problem !== undefined && process.env['TEST_BROWSER'] !== 'required';
if (isSkipped) test('The page in a real browser', { skip: problem }, () => undefined);

function inBrowser(name: string, run: (t: TestContext) => Promise<void>): void {
  if (!isSkipped) test(name, run);
}

let browser: Browser;
let service: Service;

before(async () => {
  if (isSkipped) return;
  assert.equal(problem, undefined);
  service = await startService({ page: true });
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await service?.close();
});

async function openPage(path = '/'): Promise<void> {
  await browser.open(`${service.origin}${path}`);
  await until(async () => (await browser.run('return !main.hidden')) === true);
}

async function useKey(key: string): Promise<void> {
  await browser.type('#key', key);
  await browser.click('#key-form button');
}

async function addPet(name: string, category = '1', status = 'available'): Promise<void> {
  await browser.type('#name', name);
  await browser.type('#category', category);
  await browser.run('document.querySelector("#status").value = arguments[0]', status);
  await browser.click('#add-form button.main');
}

/** Waits for the words of a place. */
async function says(place: 'list' | 'add' | 'metrics', words: RegExp): Promise<void> {
  let text = '';
  const isSaid = async (): Promise<boolean> => {
    text = await browser.text(`#${place}-answer .words`);
    return words.test(text);
  };
  await until(isSaid, () => `${words} is not in: ${text}`);
}

async function until(
  isTrue: () => Promise<boolean>,
  complaint = () => 'It did not come true',
): Promise<void> {
  const endsAt = Date.now() + 10_000;
  while (!(await isTrue())) {
    assert.ok(Date.now() < endsAt, complaint());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const names = async (): Promise<unknown> =>
  browser.run('return [...document.querySelectorAll("td.name")].map((cell) => cell.textContent)');

const focused = async (): Promise<unknown> =>
  browser.run('const { id, className } = document.activeElement; return id || className');

async function tabTo(id: string): Promise<void> {
  for (let tabs = 0; (await focused()) !== id; tabs += 1) {
    assert.ok(tabs < 12, `${id} cannot be reached`);
    await browser.press(TAB);
  }
}

inBrowser(
  'By keyboard alone: enter a key, see that there is nothing, add a pet, see it',

  async () => {
    await openPage();
    await tabTo('key');
    await browser.press(`${KEY}${ENTER}`);
    await says('list', /^Answer 200: 0 pets\.$/);
    assert.equal(await browser.text('#empty'), 'There are no pets yet: add one.');
    await tabTo('name');
    await browser.press(`Rex${ENTER}`);
    await says('add', /^Answer 201: pet 1 is stored/);
    await says('list', /^Answer 200: 1 pet\.$/);
    assert.equal(await browser.text('#rows'), '1\tRex\t1\tavailable');
  },
);

inBrowser('An int64 is exact both ways, and what is none is not sent', async () => {
  await openPage();
  await useKey(KEY);
  for (const [id, digits] of [
    [2, '9223372036854775807'],
    [3, '-9223372036854775808'],
  ] as const) {
    await addPet('Big', digits, '');
    await says('add', new RegExp(`^Answer 201: pet ${id} `));
    assert.ok((await browser.text('#add-answer code')).includes(`"categoryId":${digits}}`));
    await until(async () => (await browser.text('#rows')).includes(`Big\t${digits}\tnone`));
  }
  for (const wrong of ['9223372036854775808', '1.5', 'x', '']) {
    await addPet('Big', wrong);
    await says('add', /^Not sent\. Category id must be an integer of 64 bits\.$/);
    assert.equal(await focused(), 'words bad');
    const shown = await browser.run(`return [category.getAttribute('aria-invalid'),
      document.querySelector('#add-answer .curl').hidden]`);
    assert.deepEqual(shown, ['true', true]);
  }
});

inBrowser('Markup in a name, and text of any kind, is shown as it is', async () => {
  await openPage();
  await useKey(KEY);
  const wild = [
    '<img src=x onerror=hit=1>',
    '<script>hit=1</script>',
    "O'Hara",
    ' two  spaces',
    'نمر',
  ];
  for (const name of wild) await service.post({ name, categoryId: 1 });
  await browser.click('#key-form button');
  await until(async () => JSON.stringify(await names()).includes('نمر'));
  assert.deepEqual(((await names()) as string[]).slice(3), wild);
  assert.equal(await browser.run('return typeof hit + document.images.length'), 'undefined0');
});

inBrowser('A filter and paging show what the curl line asks for', async () => {
  for (let i = 0; i < 50; i += 1) {
    await service.post({ name: `Sold ${i}`, categoryId: i, status: 'sold' });
  }
  await openPage();
  await useKey(KEY);
  await says('list', /^Answer 200: 20 pets, and there are more\.$/);
  await browser.run(`filter.value = 'sold'; filter.dispatchEvent(new Event('change'))`);
  const first = Array.from({ length: 20 }, (_, index) => `Sold ${index}`);
  await until(async () => JSON.stringify(await names()) === JSON.stringify(first));
  await browser.click('#next');
  await until(async () => ((await names()) as string[])[0] === 'Sold 20');
  assert.equal(await focused(), 'caption');
  assert.match(await browser.text('#caption'), /^Page 2/);
  await browser.click('#next');
  await says('list', /^Answer 200: 10 pets\.$/);
  assert.equal(await browser.run('return next.hidden'), true);
  const line = await browser.text('#list-answer code');
  const wanted = `^curl -H "Authorization: Bearer \\$API_KEY" '${service.origin}/v1/pets\\?`;
  assert.match(line, new RegExp(`${wanted}[^']*status=sold[^']*'$`));
  await browser.click('#previous');
  await browser.click('#previous');
  await until(async () => JSON.stringify(await names()) === JSON.stringify(first));
  await browser.run(`filter.value = 'pending'; filter.dispatchEvent(new Event('change'))`);
  await until(async () => (await browser.text('#empty')) === 'No pet is pending.');
});

inBrowser('A wrong key, and none, is told in words that get the focus', async () => {
  await openPage();
  await browser.click('#key-form button');
  await says('list', /^Not sent\. Enter an API key first\.$/);
  await useKey(KEY);
  await says('list', /^Answer 200/);
  await browser.console();
  await useKey('wrong-key');
  await says('list', /^Answer 401, unauthorized: /);
  assert.equal(await focused(), 'words bad');
  // What the key before it showed is gone.
  assert.equal(await browser.run('return pets.hidden'), true);
  await browser.click('#metrics');
  await says('metrics', /^Answer 401, unauthorized: /);
  const complaints = await browser.console();
  assert.equal(complaints.length, 2);
  for (const line of complaints) assert.match(line, /status of 401 /);
});

inBrowser('The metrics come with the key', async () => {
  await openPage();
  await useKey(KEY);
  await browser.click('#metrics');
  await says('metrics', /^Answer 200\.$/);
  assert.match(await browser.text('#metrics-text'), /^petstore_pets\{/m);
});

inBrowser(
  'A key stays in the tab only where that is asked for, and is shown nowhere',

  async () => {
    const places = `return [sessionStorage, localStorage].map((storage) => JSON.stringify(storage))
    .concat(location.href, document.cookie, document.body.innerText)`;
    await openPage();
    await useKey(KEY);
    await says('list', /^Answer 200/);
    for (const place of (await browser.run(places)) as string[])
      assert.ok(!place.includes(KEY), place);
    await browser.click('#keep');
    await openPage('/?again#there');
    await says('list', /^Answer 200/);
    const [session, ...others] = (await browser.run(places)) as [string, ...string[]];
    assert.equal(session, `{"petstore-key":"${KEY}"}`);
    for (const place of others) assert.ok(!place.includes(KEY), place);
    await browser.click('#keep');
    assert.equal(await browser.run('return JSON.stringify(sessionStorage)'), '{}');
    await openPage();
    assert.equal(await browser.run('return key.value'), '');
  },
);

inBrowser('A curl line can be copied', async () => {
  await openPage();
  await useKey(KEY);
  await says('list', /^Answer 200/);
  await browser.click('#list-answer button');
  await until(async () => (await browser.text('#list-answer button')) === 'Copied');
});

inBrowser(
  'Each field has its label, the table its caption, and words are read out',

  async () => {
    await openPage();
    const nameless =
      await browser.run(`return [...document.querySelectorAll('input, select, button')]
    .filter((field) => field.labels?.length !== 1 && field.textContent === '')
    .map(({ id }) => id)`);
    assert.deepEqual(nameless, []);
    const count = 'return document.querySelectorAll(arguments[0]).length';
    assert.equal(await browser.run(count, '.words[role=status][tabindex="-1"]'), 3);
    assert.equal(await browser.run(count, 'table > caption, th[scope=col]'), 5);
    assert.equal(await browser.run('return document.documentElement.lang'), 'en');
  },
);

inBrowser(
  'It fits a narrow phone, with long names, too, and follows the dark',

  async (t) => {
    const size = { width: 320, height: 640, deviceScaleFactor: 1, mobile: true };
    await browser.command('Emulation.setDeviceMetricsOverride', size);
    t.after(() => browser.command('Emulation.clearDeviceMetricsOverride', {}));
    await service.post({ name: 'A'.repeat(300), categoryId: 1 });
    // One letter with so many signs about it has no place to break a line.
    await service.post({ name: `a${'\u0489'.repeat(300)}`, categoryId: 1 });
    await openPage();
    await useKey(KEY);
    await says('list', /^Answer 200/);
    const width = 'return document.documentElement.scrollWidth';
    assert.equal(await browser.run(width), 320);
    const back = async (value: string): Promise<unknown> => {
      const features = [{ name: 'prefers-color-scheme', value }];
      await browser.command('Emulation.setEmulatedMedia', { features });
      return browser.run('return getComputedStyle(document.body).backgroundColor');
    };
    assert.equal(await back('light'), 'rgb(244, 246, 248)');
    assert.equal(await back('dark'), 'rgb(17, 21, 26)');
  },
);

inBrowser('Without JavaScript it says how to use curl', async (t) => {
  const disable = (value: boolean): Promise<unknown> =>
    browser.command('Emulation.setScriptExecutionDisabled', { value });
  await disable(true);
  t.after(() => disable(false));
  await browser.open(`${service.origin}/`);
  const text = await browser.text('body');
  assert.match(text, /The reference has a\s+curl line for each operation/);
  assert.doesNotMatch(text, /Loading/);
  await browser.click('noscript a');
  assert.match(await browser.text('#listPets'), /curl -H "Authorization: Bearer \$API_KEY"/);
});

inBrowser('Under a prefix it does the same', async (t) => {
  const mounted = await startService({ page: true, prefix: '/shop' });
  t.after(mounted.close);
  await browser.open(`${mounted.origin}/shop/`);
  await useKey(KEY);
  await addPet('Rex');
  await says('add', /^Answer 201: pet 1 /);
  await says('list', /^Answer 200: 1 pet\.$/);
});

inBrowser('No request went to another host, and the console has no error', async () => {
  await browser.console();
  await browser.requests();
  await openPage();
  await useKey(KEY);
  await addPet('Last');
  await says('add', /^Answer 201/);
  assert.deepEqual(await browser.console(), []);
  const requests = await browser.requests();
  assert.ok(requests.length > 15, requests.join());
  const elsewhere = requests.filter(
    (url) => !/^data:/.test(url) && !url.startsWith(service.origin),
  );
  assert.deepEqual(elsewhere, []);
});

inBrowser('A service that is gone is told in words', async () => {
  await openPage();
  await useKey(KEY);
  await says('list', /^Answer 200/);
  await service.close();
  await browser.click('#key-form button');
  await says('list', /^No answer, network_failure: /);
});
