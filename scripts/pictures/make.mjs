/**
 * Makes page-light.webp and page-dark.webp anew: the real page of a real service in a real browser,
 * at twice the usual resolution. It needs Chromium and chromedriver, as the tests in a browser do.
 * The drawing, create.svg, was made by hand: a text editor changes it.
 *
 *     node scripts/pictures/make.mjs
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildTests, root } from '../build.mjs';

const PETS = [
  { name: 'Rex', categoryId: 1, status: 'available' },
  { name: 'Mia', categoryId: 2, status: 'sold' },
  { name: 'Грета', categoryId: 2, status: 'pending' },
  { name: 'Zoë', categoryId: 2 },
  { name: 'Hedwig', categoryId: 9223372036854775807n, status: 'available' },
];
const SIZE = { width: 1120, height: 900, deviceScaleFactor: 2, mobile: false };

buildTests();
/** @param {string} path */
const support = (path) =>
  import(new URL(`../../.build/test/support/${path}`, import.meta.url).href);
const { browser, inBrowser, inLightAndDark, shows, useBrowser } =
  await support('browser/in-browser.js');
const { KEY } = await support('http/service.js');

useBrowser('The pictures', { page: true });

inBrowser('Pictures are made in light and dark', async () => {
  const { service } = await support('browser/in-browser.js');
  for (const pet of PETS) await service.app.pets.create(pet);
  await browser.command('Emulation.setDeviceMetricsOverride', SIZE);
  await browser.command('Emulation.setScrollbarsHidden', { hidden: true });
  await browser.open(service.origin);
  await shows('!main.hidden');
  await browser.type('#key', KEY);
  await browser.click('#key-form .main');
  await shows('rows.children.length', PETS.length);
  await browser.type('#name', 'Tom');
  await browser.click('#add-form .main');
  await shows('rows.children.length', PETS.length + 1);
  // Neither a focus nor a random port.
  await browser.value(`[document.activeElement.blur(), document.querySelectorAll('code').forEach(
    (code) => code.textContent = code.textContent.replace(location.port, '8080'))]`);
  await inLightAndDark(takePicture);
});

/** @param {string} scheme */
async function takePicture(scheme) {
  // Up to the metrics, and without the space for a scroll bar.
  const width = await browser.value('document.documentElement.clientWidth');
  const height = await browser.value('more.getBoundingClientRect().top + scrollY - 8');
  const { data } = await browser.command('Page.captureScreenshot', {
    format: 'webp',
    quality: 50,
    captureBeyondViewport: true,
    clip: { x: 0, y: 0, width, height, scale: 1 },
  });
  const path = join(root, 'scripts', 'pictures', `page-${scheme}.webp`);
  writeFileSync(path, Buffer.from(data, 'base64'));
  console.log(`${path}: ${Math.ceil((data.length * 3) / 4)} bytes`);
}
