/**
 * Runs the built client in a realm with the language and five functions of the web only. There the
 * client fails if it uses a module of Node or a package.
 *
 *     node --experimental-vm-modules browser-realm.js CLIENT_JS BASE_URL API_KEY
 */

import { readFileSync } from 'node:fs';
import { createContext, SourceTextModule } from 'node:vm';
import type * as Client from '../../src/client/client.ts';

const context = createContext({
  URL,
  AbortController,
  // As in a browser, where fetch must not be called as a method.
  fetch(this: unknown, ...args: Parameters<typeof fetch>) {
    if (this !== undefined) throw new TypeError('Illegal invocation');
    return fetch(...args);
  },
  // In a browser a timer is a number.
  setTimeout: (callback: () => void, ms: number) => Number(setTimeout(callback, ms)),
  clearTimeout: (timer: number) => clearTimeout(timer),
});

const modules = new Map<string, SourceTextModule>();

function load(url: URL): SourceTextModule {
  const known = modules.get(url.href);
  if (known !== undefined) return known;
  const source = readFileSync(url, 'utf8');
  const loaded = new SourceTextModule(source, { context, identifier: url.href });
  modules.set(url.href, loaded);
  return loaded;
}

const [clientUrl = '', baseUrl = '', apiKey = ''] = process.argv.slice(2);
const main = load(new URL(clientUrl));
await main.link((specifier, { identifier }) => {
  if (!specifier.startsWith('.')) throw new Error(`A browser cannot import ${specifier}`);
  return load(new URL(specifier, identifier));
});
await main.evaluate();

const { createClient } = main.namespace as typeof Client;
const client = createClient({ baseUrl, apiKey });
const added = [];
for (const name of ['Rex', '\ud800', 'Ada']) {
  added.push(await client.createPet({ name, categoryId: 2n ** 63n - 1n }));
}
const listed = [];
for await (const pet of client.allPets({ limit: 2 })) listed.push(pet);
const notFound = await client.getPet(99).catch((error: unknown) => error);
const text = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? `${item}n` : item));
console.log(text({ added, listed, notFound }));
