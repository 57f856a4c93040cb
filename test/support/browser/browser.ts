/**
 * A real Chromium without a window, driven by chromedriver over the W3C WebDriver interface, which
 * is HTTP and JSON: so it needs no package, and works on every Node.
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

export interface Browser {
  open(url: string): Promise<unknown>;
  /**
   * Runs a function body in the page. Resolves with what it returns, as JSON.
   */
  run(body: string, ...args: readonly unknown[]): Promise<unknown>;
  /** Resolves with the visible text of an element. */
  text(selector: string): Promise<string>;
  /** Clicks as a person does. Rejects if another element covers it. */
  click(selector: string): Promise<unknown>;
  /** Presses keys in the focused element; `\uE004` is Tab, `\uE007` Enter, `\uE00C` Escape. */
  press(keys: string): Promise<unknown>;
  /** Replaces the text of a field. */
  type(selector: string, text: string): Promise<unknown>;
  /** Sends a command of the DevTools protocol. */
  command(cmd: string, params: object): Promise<unknown>;
  /** The errors in the console, and the addresses of all requests, since the last call. */
  console(): Promise<readonly string[]>;
  requests(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Returns why no browser can be used, or undefined. */
export function browserProblem(): string | undefined {
  const { status } = spawnSync('chromedriver', ['--version']);
  return status === 0 ? undefined : 'needs Chromium and chromedriver (Debian: chromium-driver)';
}

/** Chromium needs them if it runs as root, or in a container without /dev/shm. */
const FLAGS = ['--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];

const CAPABILITIES = {
  browserName: 'chrome',
  'goog:chromeOptions': { args: [...FLAGS, '--window-size=1200,900'] },
  'goog:loggingPrefs': { browser: 'ALL', performance: 'ALL' },
};

/** Starts chromedriver on a free port, and a browser. */
export async function openBrowser(): Promise<Browser> {
  const driver = spawn('chromedriver', ['--port=0'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const base = `http://127.0.0.1:${await portOf(driver.stdout)}/session`;
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const { value } = (await (await fetch(`${base}${path}`, init)).json()) as { value: unknown };
    const { error, message } = (value ?? {}) as { error?: string; message?: string };
    if (error !== undefined) throw new Error(`${method} ${path}: ${error}, ${message}`);
    return value;
  };
  const made = await call('POST', '', { capabilities: { alwaysMatch: CAPABILITIES } });
  const session = `/${(made as { sessionId: string }).sessionId}`;
  const post: Post = (path, body) => call('POST', `${session}${path}`, body);
  return browserOf(post, async () => {
    await call('DELETE', session);
    driver.kill();
    if (driver.exitCode === null) await once(driver, 'exit');
  });
}

async function portOf(output: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of output) {
    text += String(chunk);
    const port = /started successfully on port ([0-9]+)/.exec(text)?.[1];
    // To leave the loop would close the pipe.
    if (port !== undefined) return port;
  }
  throw new Error(`chromedriver did not start: ${text}`);
}

type Post = (path: string, body: object) => Promise<unknown>;

function browserOf(post: Post, close: () => Promise<void>): Browser {
  const find = async (selector: string): Promise<string> => {
    const found = await post('/element', { using: 'css selector', value: selector });
    return `/element/${Object.values(found as object)[0]}`;
  };
  const run = (script: string, ...args: readonly unknown[]): Promise<unknown> =>
    post('/execute/sync', { script, args });
  const log = async (type: string): Promise<readonly { level: string; message: string }[]> =>
    (await post('/se/log', { type })) as { level: string; message: string }[];
  return {
    open: (url) => post('/url', { url }),
    run,
    text: async (selector) =>
      String(await run('return document.querySelector(arguments[0]).innerText', selector)),
    click: async (selector) => post(`${await find(selector)}/click`, {}),
    press(keys) {
      const actions = [...keys].flatMap((value) => [
        { type: 'keyDown', value },
        { type: 'keyUp', value },
      ]);
      return post('/actions', { actions: [{ type: 'key', id: 'keys', actions }] });
    },
    async type(selector, text) {
      const field = await find(selector);
      await post(`${field}/clear`, {});
      return post(`${field}/value`, { text });
    },
    command: (cmd, params) => post('/goog/cdp/execute', { cmd, params }),
    async console() {
      const lines = await log('browser');
      return lines.filter(({ level }) => level === 'SEVERE').map(({ message }) => message);
    },
    async requests() {
      const events = (await log('performance')).map(
        ({ message }) => (JSON.parse(message) as { message: NetworkEvent }).message,
      );
      const sent = events.filter(({ method }) => method === 'Network.requestWillBeSent');
      return sent.map(({ params }) => params.request.url);
    },
    close,
  };
}

interface NetworkEvent {
  readonly method: string;
  readonly params: { readonly request: { readonly url: string } };
}
