/** The reference in a real browser: on a phone, in the dark, without scripts, and to the page. */

import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import { browserProblem, openBrowser, type Browser } from '../support/browser/browser.ts';
import { KEY, startService, type Service } from '../support/http/service.ts';

const problem = browserProblem();
// Where a browser was installed for the tests, to pass over them would be a lie.
const isSkipped = problem !== undefined && process.env['TEST_BROWSER'] !== 'required';
if (isSkipped) test('The reference in a real browser', { skip: problem }, () => undefined);

function inBrowser(name: string, run: (t: TestContext) => Promise<void>): void {
  if (!isSkipped) test(name, run);
}

let browser: Browser;
let service: Service;

before(async () => {
  if (isSkipped) return;
  assert.equal(problem, undefined);
  service = await startService({ page: true, prefix: '/shop' });
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await service?.close();
});

/** chromedriver now and then returns before the style sheet is in force. */
async function openReference(): Promise<void> {
  await browser.open(`${service.origin}/shop/docs`);
  await untilTrue(`return document.readyState === 'complete' && document.styleSheets.length === 1`);
}

async function setWidth(t: TestContext, width: number): Promise<void> {
  const size = { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 };
  await browser.command('Emulation.setDeviceMetricsOverride', size);
  t.after(() => browser.command('Emulation.clearDeviceMetricsOverride', {}));
}

inBrowser('The reference fits a phone and a wide screen, light and dark', async (t) => {
  const tooWide = `const edge = document.documentElement.clientWidth;
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > edge + 1)
      .map((element) => element.outerHTML.slice(0, 80));`;
  for (const width of [320, 360, 768, 1400]) {
    await setWidth(t, width);
    for (const [value, expected] of [
      ['light', 'rgb(244, 246, 248)'],
      ['dark', 'rgb(17, 21, 26)'],
    ] as const) {
      const features = [{ name: 'prefers-color-scheme', value }];
      await browser.command('Emulation.setEmulatedMedia', { features });
      await openReference();
      await untilTrue(`return getComputedStyle(document.body).backgroundColor === '${expected}'`);
      assert.deepEqual(await browser.run(tooWide), [], `${width} ${value}`);
    }
  }
});

inBrowser('The reference asks no other host, and the console has no error', async () => {
  await browser.console();
  await browser.requests();
  await openReference();
  assert.deepEqual(await browser.console(), []);
  const requests = (await browser.requests()).filter((url) => !url.startsWith('data:'));
  const expected = ['docs', 'page/style.css'].map((path) => `${service.origin}/shop/${path}`);
  assert.deepEqual(requests.sort(), expected);
});

inBrowser('The reference can be read without JavaScript, and on paper', async (t) => {
  const disable = (value: boolean): Promise<unknown> =>
    browser.command('Emulation.setScriptExecutionDisabled', { value });
  await disable(true);
  t.after(() => disable(false));
  t.after(() => browser.command('Emulation.setEmulatedMedia', { media: '' }));
  for (const media of ['', 'print']) {
    await openReference();
    await browser.command('Emulation.setEmulatedMedia', { media });
    const text = await browser.text('body');
    for (const words of ['GET /shop/v1/pets', 'at most 100', 'outcome_unknown', '$PETSTORE']) {
      assert.ok(text.includes(words), words);
    }
    const isNavShown = await browser.run('return document.querySelector("nav").offsetHeight > 0');
    assert.equal(isNavShown, media === '');
  }
});

inBrowser('“Try it” leads to the page and the panel of that operation', async () => {
  for (const [operation, panel] of [
    ['listPets', 'list'],
    ['createPet', 'add-form'],
    ['metrics', 'more'],
  ] as const) {
    await openReference();
    await browser.click(`#${operation} a[href^="./#"]`);
    await untilTrue(`const box = document.getElementById('${panel}')?.getBoundingClientRect();
      return location.pathname === '/shop/' && box?.height > 0 && box.top >= 0
        && box.top < innerHeight - 100`);
  }
  await browser.type('#key', KEY);
  await browser.click('header a[href="docs"]');
  await untilTrue(`return location.pathname === '/shop/docs'`);
});

async function untilTrue(script: string): Promise<void> {
  const endsAt = Date.now() + 10_000;
  while ((await browser.run(script)) !== true) {
    assert.ok(Date.now() < endsAt, `It did not come true: ${script}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
