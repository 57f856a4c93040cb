/**
 * The page's module, which runs in the browser. It uses the typed client, so that an int64 is exact
 * here, too. The API key stays in memory, or in the tab's sessionStorage if the visitor wants that,
 * and is never in an address. Data from the service is inserted as text, never as markup. Nothing
 * is retried automatically, so that each response belongs to one request.
 */

import { parseInt64 } from '../base/int64.ts';
import { errorFrom } from '../client/responses.ts';
import { createClient, type NewPet, type Pet } from '../client/client.ts';
import { encodeNewPet, listPetsUrl, petsUrl, readBaseUrl } from '../client/requests.ts';
import { isPetStatus, type PetStatus } from '../model/pet.ts';
import { makeRequestPanel, type Element } from './request-panel.ts';

declare const document: Element & { baseURI: string; createElement(name: string): Element };
declare const sessionStorage: Record<string, string>;

const find = (selector: string): Element => document.querySelector(selector);
const baseUrl = readBaseUrl(new URL('v1', document.baseURI));
/** A new client for each request, since the key may have changed. */
const client = () => createClient({ baseUrl, apiKey: readKey(), retries: 0 });
const askList = makeRequestPanel('#list-response');
const askAdd = makeRequestPanel('#add-response');
const askMetrics = makeRequestPanel('#metrics-response');
/** The addresses of the pages up to the shown one, and of the next page. */
let pages: readonly string[] = [];
let next: string | undefined;
let newest: bigint | undefined;

on('#key-form', 'submit', () => [(find('#pets').hidden = true), list(), keepKey()]);
on('#keep', 'change', keepKey);
on('#filter', 'change', () => list());
on('#previous', 'click', () => list(pages.slice(0, -1), '#caption'));
on('#next', 'click', () => list([...pages, next!], '#caption'));
on('#add-form', 'submit', addPet);
on('#metrics', 'click', showMetrics);
[find('#start').hidden, find('#main').hidden] = [true, false];
// Last, since a browser that blocks storage throws here.
if (sessionStorage['petstore-key'] !== undefined) {
  [find('#key').value, find('#keep').checked] = [sessionStorage['petstore-key'], true];
  void list();
}

function on(selector: string, event: string, act: () => unknown): void {
  find(selector).addEventListener(event, (happened) => [happened.preventDefault(), act()]);
}

function keepKey(): void {
  if (find('#keep').checked) sessionStorage['petstore-key'] = find('#key').value;
  else delete sessionStorage['petstore-key'];
}

function readKey(): string {
  const key = find('#key').value.trim();
  if (key === '') throw new TypeError('Enter an API key first');
  return key;
}

function readStatus(selector: string): PetStatus | undefined {
  const { value } = find(selector);
  return isPetStatus(value) ? value : undefined;
}

/** `wanted` has the addresses of the pages up to the one to show. Without any: the first page. */
async function list(wanted: readonly string[] = [], focusOn?: string): Promise<void> {
  const url = wanted.at(-1) ?? listPetsUrl(baseUrl, { status: readStatus('#filter') }).href;
  const prepare = () => ({ url, response: client().listPets(url) });
  await askList(prepare, (page) => {
    [pages, next] = [wanted.length === 0 ? [url] : wanted, page.next];
    showPets(page.pets);
    if (focusOn !== undefined) find(focusOn).focus();
    const count = page.pets.length === 1 ? '1 pet' : `${page.pets.length} pets`;
    return `Response 200: ${count}${next === undefined ? '' : ', and there are more'}.`;
  });
}

function showPets(pets: readonly Pet[]): void {
  const [isEmpty, status] = [pets.length === 0, readStatus('#filter') ?? ''];
  find('#pets').hidden = false;
  find('#rows').replaceChildren(...pets.map(rowOf));
  find('#caption').textContent = `Page ${pages.length}, by id`;
  find('#empty').textContent =
    status === '' ? 'There are no pets yet: add one.' : `No pet is ${status}.`;
  [find('#table').hidden, find('#empty').hidden] = [isEmpty, !isEmpty];
  [find('#previous').hidden, find('#next').hidden] = [pages.length === 1, next === undefined];
}

function rowOf({ id, name, categoryId, status }: Pet): Element {
  const row = make('tr', id === newest ? 'new' : '', '');
  row.append(make('td', 'number', `${id}`), make('td', 'name', name));
  row.append(make('td', 'number', `${categoryId}`), make('td', status ?? 'none', status ?? 'none'));
  return row;
}

function make(tag: string, className: string, text: string): Element {
  const made = document.createElement(tag);
  [made.className, made.textContent] = [className, text];
  // A name in Arabic or Hebrew must not change the direction of its neighbours.
  made.setAttribute('dir', 'auto');
  return made;
}

async function addPet(): Promise<void> {
  const prepare = () => {
    const [pet, url] = [readNewPet(), petsUrl(baseUrl).href];
    return { url, body: encodeNewPet(pet), response: client().createPet(pet) };
  };
  await askAdd(prepare, ({ id }) => {
    [newest, find('#name').value] = [id, ''];
    void list(pages);
    return `Response 201: pet ${id} is stored. It is at the end of the list of all pets.`;
  });
}

function readNewPet(): NewPet {
  const categoryId = parseInt64(find('#category').value.trim());
  find('#category').setAttribute('aria-invalid', `${categoryId === undefined}`);
  if (categoryId === undefined) throw new TypeError('Category id must be a 64-bit integer');
  return { name: find('#name').value, categoryId, status: readStatus('#status') };
}

async function showMetrics(): Promise<void> {
  const url = new URL('metrics', document.baseURI).href;
  const prepare = () => ({ url, response: fetchMetrics(url, readKey()) });
  await askMetrics(prepare, (text) => {
    [find('#metrics-text').textContent, find('#metrics-text').hidden] = [text, false];
    return 'Response 200.';
  });
}

async function fetchMetrics(url: string, key: string): Promise<string> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  const text = await response.text();
  if (response.ok) return text;
  throw errorFrom({ status: response.status, headers: response.headers, text }, key);
}
