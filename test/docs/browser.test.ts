/** The reference in a real browser: on a phone, in the dark, without scripts, and to the page. */

import assert from 'node:assert/strict';
import {
  browser,
  disableScripts,
  inBrowser,
  inLightAndDark,
  requestsOf,
  service,
  setWidth,
  untilTrue,
  useBrowser,
} from '../support/browser/in-browser.ts';

useBrowser('The reference', { page: true, prefix: '/shop' });

/** chromedriver sometimes returns before the style sheet is applied. */
async function openReference(): Promise<void> {
  await browser.open(`${service.origin}/shop/docs`);
  await untilTrue(`return document.readyState === 'complete' && document.styleSheets.length === 1`);
}

inBrowser('The reference fits a phone and a wide screen, light and dark', async (t) => {
  const tooWide = `const edge = document.documentElement.clientWidth;
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > edge + 1)
      .map((element) => element.outerHTML.slice(0, 80));`;
  for (const width of [320, 360, 768, 1400]) {
    await setWidth(t, width);
    await openReference();
    await inLightAndDark(async (mode) => {
      assert.deepEqual(await browser.run(tooWide), [], `${width} ${mode}`);
    });
  }
});

inBrowser('The reference loads its own files only, without an error in the console', async () => {
  const paths = ['docs', 'page/page/address.js', 'page/page/curl-line.js', 'page/style.css'];
  const requested = await requestsOf(openReference);
  assert.deepEqual(
    [...requested].sort(),
    paths.map((path) => `/shop/${path}`),
  );
});

inBrowser('The curl variables have the address from which the reference was loaded', async () => {
  await openReference();
  await untilTrue(`return document.body.innerText.includes("PETSTORE='${service.origin}'")`);
});

inBrowser('The reference can be read without JavaScript, and on paper', async (t) => {
  await disableScripts(t);
  t.after(() => browser.command('Emulation.setEmulatedMedia', { media: '' }));
  for (const media of ['', 'print']) {
    await openReference();
    await browser.command('Emulation.setEmulatedMedia', { media });
    const text = await browser.text('body');
    for (const words of ['GET /shop/v1/pets', 'at most 100', 'outcome_unknown', "PETSTORE='http"]) {
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
  await browser.click('header a[href="docs"]');
  await untilTrue(`return location.pathname === '/shop/docs'`);
});
