/**
 * Tests in a real Chromium without a window, driven by chromedriver over the W3C WebDriver
 * interface, which is HTTP and JSON: so it needs no package, and works on every Node. The tests of
 * a file share one browser and one service. Without chromedriver they are skipped, or fail with
 * TEST_BROWSER=required, as in CI.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { inspect, isDeepStrictEqual } from 'node:util';
import { freePort, openService, type Service } from '../http/service.ts';
import { pathOf } from '../process/program.ts';
import { until } from '../until.ts';

const isMissing = pathOf('chromedriver') === undefined;
const isSkipped = isMissing && process.env['TEST_BROWSER'] !== 'required';

/** Chromium needs the first two if it runs as root, or in a container without /dev/shm. */
const FLAGS = ['--no-sandbox', '--disable-dev-shm-usage', '--headless=new', '--disable-gpu'];

const CAPABILITIES = {
  browserName: 'chrome',
  'goog:chromeOptions': { args: [...FLAGS, '--window-size=1200,900'] },
  'goog:loggingPrefs': { browser: 'SEVERE' },
};

export let service: Service;
let session: string;

const closings: (() => unknown)[] = [];

/** Opens the service and the browser. */
async function open(): Promise<void> {
  assert.equal(isMissing, false, 'chromedriver is not installed');
  const options = { page: true, prefix: '/shop' };
  service = await openService({ after: (close) => closings.push(close) }, options);
  const port = await freePort();
  const driver = spawn('chromedriver', [`--port=${port}`], { stdio: 'ignore' });
  closings.push(() => driver.kill() && once(driver, 'exit'));
  const base = `http://127.0.0.1:${port}/`;
  const isListening = (): Promise<boolean> => fetch(base).then(Boolean, () => false);
  await until(isListening, () => 'chromedriver does not listen');
  const capabilities = { alwaysMatch: CAPABILITIES };
  const opened = await call('POST', `${base}session`, { capabilities });
  session = `${base}session/${(opened as { sessionId: string }).sessionId}`;
  closings.push(() => call('DELETE', session));
}

const skip = isSkipped && 'needs Chromium and chromedriver (Debian: chromium-driver)';
test('There is a real browser', { skip }, () => undefined);
if (!isSkipped) before(open);
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

export const browser = {
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
    const log = await post('/se/log', { type: 'browser' });
    return (log as readonly { message: string }[]).map(({ message }) => message);
  },
};

/** `test` itself, so that a report names the file of the test. */
export const inBrowser = (isSkipped ? () => undefined : test) as typeof test;

/** Waits until an expression in the page has this value, or matches this pattern. */
export async function shows(expression: string, expected: unknown = true): Promise<void> {
  let shown: unknown;
  const isShown = async (): Promise<boolean> => {
    shown = await browser.value(expression);
    return expected instanceof RegExp
      ? expected.test(String(shown))
      : isDeepStrictEqual(shown, expected);
  };
  await until(isShown, () => `${expression} is ${inspect(shown)}, not ${inspect(expected)}`);
}

/** Resolves with the addresses that the page requested. Rejects if `act` causes an error in it. */
export async function requestsOf(act: () => Promise<void>): Promise<readonly string[]> {
  await browser.console();
  await act();
  assert.deepEqual(await browser.console(), []);
  const names = await browser.value('performance.getEntries().map(({ name }) => name)');
  return (names as readonly string[]).filter((name) => /^[a-z]+:[/][/]/.test(name));
}
