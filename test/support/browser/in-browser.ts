/**
 * Tests in a real browser. The tests of a file share one browser and one service. Without
 * chromedriver they are skipped, or fail with TEST_BROWSER=required, as in CI.
 */

import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import { startService, type Service } from '../http/service.ts';
import { browserProblem, openBrowser, type Browser } from './browser.ts';

const problem = browserProblem();
const isSkipped = problem !== undefined && process.env['TEST_BROWSER'] !== 'required';

export let browser: Browser;
export let service: Service;

/** Opens the browser and the service before the tests of the file, and closes both after them. */
export function useBrowser(what: string, options: Parameters<typeof startService>[0]): void {
  if (isSkipped) {
    test(`${what} in a real browser`, { skip: problem }, () => undefined);
    return;
  }
  before(async () => {
    assert.equal(problem, undefined);
    service = await startService(options);
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.close();
  });
}

type DeclareTest = (name: string, run: (t: TestContext) => Promise<void>) => void;

/** `test` itself, so that a report names the file of the test. */
export const inBrowser: DeclareTest = isSkipped ? () => undefined : test;

/** Waits up to ten seconds until `isTrue` resolves with true. */
export async function until(
  isTrue: () => Promise<unknown>,
  message = () => `It did not become true: ${isTrue}`,
): Promise<void> {
  const endsAt = Date.now() + 10_000;
  while ((await isTrue()) !== true) {
    assert.ok(Date.now() < endsAt, message());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits until a function body returns true in the page. */
export async function untilTrue(script: string): Promise<void> {
  await until(
    () => browser.run(script),
    () => `It did not become true: ${script}`,
  );
}

/** Gives the page the width of a phone or a screen until the test ends. */
export async function setWidth(t: TestContext, width: number): Promise<void> {
  const size = { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 };
  await browser.command('Emulation.setDeviceMetricsOverride', size);
  t.after(() => browser.command('Emulation.clearDeviceMetricsOverride', {}));
}

const BACKGROUNDS = { light: 'rgb(244, 246, 248)', dark: 'rgb(17, 21, 26)' };

/** Runs `check` in light and dark mode, each after the page has the background of that mode. */
export async function inLightAndDark(check: (mode: string) => Promise<void>): Promise<void> {
  for (const [value, background] of Object.entries(BACKGROUNDS)) {
    const features = [{ name: 'prefers-color-scheme', value }];
    await browser.command('Emulation.setEmulatedMedia', { features });
    await untilTrue(`return getComputedStyle(document.body).backgroundColor === '${background}'`);
    await check(value);
  }
}

export async function disableScripts(t: TestContext): Promise<void> {
  const disable = (value: boolean): Promise<unknown> =>
    browser.command('Emulation.setScriptExecutionDisabled', { value });
  await disable(true);
  t.after(() => disable(false));
}

/** Resolves with the paths that `act` requested. Rejects if it caused an error in the console. */
export async function requestsOf(act: () => Promise<void>): Promise<readonly string[]> {
  await browser.console();
  await browser.requests();
  await act();
  assert.deepEqual(await browser.console(), []);
  const urls = (await browser.requests()).filter((url) => !url.startsWith('data:'));
  return urls.map((url) => {
    assert.ok(url.startsWith(`${service.origin}/`), `A request to another host: ${url}`);
    return url.slice(service.origin.length);
  });
}
