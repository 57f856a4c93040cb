/**
 * Makes page-light.webp and page-dark.webp anew: the real page of a real service in a real browser.
 * It needs Chromium and chromedriver, as the tests in a browser do, and the port 8080, since the
 * page shows its own address. The drawing, create.svg, was made by hand: a text editor changes it.
 *
 *     node scripts/pictures/make.mjs
 */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildTests } from '../test.mjs';
import { root } from '../build.mjs';

const KEY = 'a-key-for-the-picture';
const PETS = [
  { name: 'Rex', categoryId: 1, status: 'available' },
  { name: 'Mia', categoryId: 2, status: 'sold' },
  { name: 'Грета', categoryId: 2, status: 'pending' },
  { name: 'Zoë', categoryId: 2, status: '' },
  { name: 'Hedwig', categoryId: 7, status: 'available' },
  { name: 'Tom', categoryId: '9223372036854775807', status: 'available' },
];
const SIZE = { width: 1040, height: 900, deviceScaleFactor: 1, mobile: false };

buildTests();
const { openBrowser } = await import(join(root, '.build', 'test', 'support', 'browser', 'browser.js'));
const { openApp } = await import(join(root, 'dist', 'app.js'));
const { createHttpServer } = await import(join(root, 'dist', 'http', 'http-server.js'));

const browser = await openBrowser();
try {
  for (const scheme of ['light', 'dark']) await takePicture(scheme);
} finally {
  await browser.close();
}

async function takePicture(scheme) {
  const app = await openApp({ memory: true, apiKeys: [KEY], page: true });
  const server = createHttpServer(app.listener).listen(8080, '127.0.0.1');
  await once(server, 'listening');
  try {
    await browser.command('Emulation.setDeviceMetricsOverride', SIZE);
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await browser.command('Emulation.setEmulatedMedia', { features });
    await browser.open('http://127.0.0.1:8080/');
    await until('return !main.hidden');
    await browser.type('#key', KEY);
    for (const [index, { name, categoryId, status }] of PETS.entries()) {
      await browser.type('#name', name);
      await browser.type('#category', `${categoryId}`);
      await browser.run('document.querySelector("#status").value = arguments[0]', status);
      await browser.click('#add-form button.main');
      await until(`return rows.children.length === ${index + 1}`);
    }
    // Neither a focus nor a pointer over a button.
    await browser.run('document.activeElement.blur()');
    const height = await browser.run('return more.getBoundingClientRect().top + scrollY');
    const { data } = await browser.command('Page.captureScreenshot', {
      format: 'webp',
      quality: 85,
      captureBeyondViewport: true,
      clip: { x: 0, y: 0, width: SIZE.width, height, scale: 1 },
    });
    const path = join(root, 'scripts', 'pictures', `page-${scheme}.webp`);
    writeFileSync(path, Buffer.from(data, 'base64'));
    console.log(`${path}: ${Math.ceil((data.length * 3) / 4)} bytes`);
  } finally {
    server.closeAllConnections();
    server.close();
    await app.close();
  }
}

async function until(script) {
  const endsAt = Date.now() + 10_000;
  while ((await browser.run(script)) !== true) {
    if (Date.now() > endsAt) throw new Error(`The page does not come to: ${script}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
