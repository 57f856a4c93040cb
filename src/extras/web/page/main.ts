/**
 * The page's module, which runs in the browser. It uses the typed client, so that an int64 is exact
 * here, too. The API key stays in memory, or in the tab's sessionStorage if the visitor wants that,
 * and is never in an address. The page's own query is the query of the list, so that reload and
 * Back keep it. Data from the service is inserted as text, never as markup. Nothing is retried
 * automatically, so that each response belongs to one request.
 */

import { INT64_MAX, INT64_MIN, parseInt64 } from '../../../core/base/int64.ts';
import { createClient, type Pet, type PetStatus } from '../../client/client.ts';
import {
  checkApiKey,
  encodeNewPet,
  listPetsUrl,
  petsUrl,
  readBaseUrl,
  readIdempotencyKey,
} from '../../client/requests.ts';
import { send } from '../../client/send.ts';
import { make, type Element } from './element.ts';
import { showName } from './marked-name.ts';
import { makeRequestPanel } from './request-panel.ts';

declare const document: Element & { baseURI: string };
declare const sessionStorage: Record<string, string>;
declare const location: { readonly search: string; readonly pathname: string; reload(): void };
/** Its state is what the controls ask for beside the address; null at an address that was typed. */
declare const history: {
  readonly state: Asked | null;
  pushState(state: Asked, unused: string, url: string): void;
  back(): void;
};
declare function addEventListener(type: string, listener: () => void): void;

/** `from` is the text of “From id”, where page 1 begins. */
interface Asked {
  readonly page: number;
  readonly from: string;
}

const find = (selector: string): Element => document.querySelector(selector);
const baseUrl = readBaseUrl(new URL('v1', document.baseURI));
const storage = openStorage();
/** The services of one origin, each with its prefix, share the tab's storage. */
const STORED_KEY = `petstore-key ${baseUrl.pathname}`;
const askList = makeRequestPanel('#list-response');
const askAdd = makeRequestPanel('#add-response');
const askMetrics = makeRequestPanel('#metrics-response');
/** The API key of the last 200, or ''. Only such a key is kept. */
let accepted = '';
/** The page after the list that is shown. */
let next: (Asked & { readonly search: string }) | undefined;
let newest: bigint | undefined;
/** The idempotency key of each create without a response that says it is stored, by its body. */
const keysOfCreates = new Map<string, string>();

on('#key-form', 'submit', () => [setAccepted(''), list({ focusOn: '#key-card summary' })]);
on('#keep', 'change', keepKey);
on('#forget', 'click', () => [setAccepted(''), location.reload()]);
on('#query', 'change', () => list({ ask: readQuery }));
// Enter in a field causes both events.
on('#query', 'submit', () => undefined);
on('#refresh', 'click', () => list());
on('#previous', 'click', () => history.back());
on('#next', 'click', () => list({ ask: () => next!, focusOn: '#caption' }));
on('#add-form', 'submit', addPet);
on('#show', 'click', () => {
  const { search } = listPetsUrl(baseUrl, { after: newest! - 1n });
  void list({ ask: () => ({ search, page: 1, from: `${newest}` }), focusOn: '#caption' });
});
on('#metrics', 'click', showMetrics);
// The link itself would make an entry of the history, which has no state.
on('.skip', 'click', () => find('#main').focus());
addEventListener('popstate', () => list({ focusOn: '#caption' }));
[find('#start').hidden, find('#main').hidden] = [true, false];
showQuery();
// A browser may have kept what the fields showed before a reload.
find('#key').value = storage[STORED_KEY] ?? '';
find('#keep').checked = storage[STORED_KEY] !== undefined;
if (find('#keep').checked) void list();

function on(selector: string, event: string, act: () => unknown): void {
  find(selector).addEventListener(event, (happened) => [happened.preventDefault(), act()]);
}

/** A browser that blocks storage throws. */
function openStorage(): Record<string, string> {
  try {
    return sessionStorage;
  } catch {
    return {};
  }
}

function keepKey(): void {
  if (find('#keep').checked && accepted !== '') storage[STORED_KEY] = accepted;
  else delete storage[STORED_KEY];
}

/** Sets the key of the last 200, or '' after a new key or a 401. */
function setAccepted(key: string): void {
  if (key !== '' && key === accepted) return;
  accepted = key;
  keepKey();
  [find('#key-state').textContent, find('#key-card').open] = [key && 'accepted', key === ''];
}

/** Options of one request: the key may change before the next one. */
function sendOptions(fetchShown: typeof fetch) {
  const apiKey = find('#key').value.trim();
  if (apiKey === '') throw new TypeError('Enter an API key first');
  checkApiKey(apiKey);
  return { fetch: fetchShown, apiKey, timeoutMs: 30_000, retries: 0 };
}

function readStatus(selector: string): PetStatus | undefined {
  return (find(selector).value || undefined) as PetStatus | undefined;
}

function readInt64(selector: string, label: string, isOptional = false): bigint | undefined {
  const text = find(selector).value.trim();
  const value = parseInt64(text);
  const isInvalid = value === undefined && !(isOptional && text === '');
  find(selector).setAttribute('aria-invalid', `${isInvalid}`);
  if (isInvalid) throw new TypeError(`${label} must be a 64-bit integer`);
  return value;
}

/** Returns the query that the fields ask for. */
function readQuery(): NonNullable<typeof next> {
  const from = readInt64('#from', 'From id', true);
  // All ids are greater than the least int64.
  const after = from === undefined || from === INT64_MIN ? undefined : from - 1n;
  const { search } = listPetsUrl(baseUrl, { status: readStatus('#filter'), after });
  return { search, page: 1, from: from === undefined ? '' : `${from}` };
}

/** Returns what the page asks for beside its address. An `after` without a next id stays. */
function asked(): Asked {
  const after = new URLSearchParams(location.search).get('after') ?? '';
  const id = parseInt64(after);
  const isLast = id === undefined || id === INT64_MAX;
  return history.state ?? { page: 1, from: isLast ? after : `${id + 1n}` };
}

/** Shows in the controls what the page asks for, also a status that does not exist. */
function showQuery(): void {
  const status = new URLSearchParams(location.search).get('status') ?? '';
  find('#filter').value = status;
  if (find('#filter').value !== status) {
    find('#filter').append(make('option', '', status));
    find('#filter').value = status;
  }
  find('#from').value = asked().from;
  find('#from').setAttribute('aria-invalid', 'false');
}

type ListRequest = { ask?: () => NonNullable<typeof next>; focusOn?: string };

/** Lists what the page asks for, or what `ask` returns, which becomes that. */
async function list({ ask, focusOn }: ListRequest = {}): Promise<void> {
  let key = '';
  const prepare = (fetchShown: typeof fetch) => {
    const { search, ...state } = ask?.() ?? { search: location.search, ...asked() };
    if (search !== location.search || state.page !== asked().page) {
      history.pushState(state, '', search || location.pathname);
    }
    showQuery();
    const [url, options] = [`${petsUrl(baseUrl).href}${search}`, sendOptions(fetchShown)];
    key = options.apiKey;
    return { url, response: createClient({ baseUrl, ...options }).listPets(url) };
  };
  const error = await askList(prepare, (shown) => {
    setAccepted(key);
    const { page, from } = asked();
    next =
      shown.next === undefined
        ? undefined
        : { search: new URL(shown.next).search, page: page + 1, from };
    showPets(shown.pets);
    if (focusOn !== undefined) find(focusOn).focus();
    const count = shown.pets.length === 1 ? '1 pet' : `${shown.pets.length} pets`;
    return `Response 200: ${count}${next === undefined ? '' : ', and there are more'}.`;
  });
  if (error !== undefined) find('#pets').hidden = true;
  if (error?.status === 401) setAccepted('');
}

function showPets(pets: readonly Pet[]): void {
  const [isEmpty, status, from] = [pets.length === 0, find('#filter').value, find('#from').value];
  find('#pets').hidden = false;
  find('#rows').replaceChildren(...pets.map(rowOf));
  find('#caption').textContent = `Page ${asked().page}, by id`;
  find('#empty').textContent =
    status + from === ''
      ? 'There are no pets yet: add one.'
      : `No pet ${from && `with an id from ${from} on `}${status ? `is ${status}` : 'exists'}.`;
  [find('#table').hidden, find('#empty').hidden] = [isEmpty, !isEmpty];
  [find('#previous').hidden, find('#next').hidden] = [asked().page === 1, next === undefined];
}

function rowOf({ id, name, categoryId, status }: Pet): Element {
  const [row, nameCell] = [make('tr', id === newest ? 'new' : ''), make('td', 'name')];
  // A name in Arabic or Hebrew must not change the direction of its neighbours.
  nameCell.setAttribute('dir', 'auto');
  showName(nameCell, name);
  row.append(make('td', 'number', `${id}`), nameCell, make('td', 'number', `${categoryId}`));
  row.append(make('td', status ?? 'none', status ?? 'none'));
  return row;
}

/** A second click, or one after a lost response, sends the same key: the pet is stored once. */
async function addPet(): Promise<void> {
  const prepare = (fetchShown: typeof fetch) => {
    const categoryId = readInt64('#category', 'Category id')!;
    const pet = { name: find('#name').value, categoryId, status: readStatus('#status') };
    const body = encodeNewPet(pet);
    const client = createClient({ baseUrl, ...sendOptions(fetchShown) });
    const idempotencyKey = keysOfCreates.get(body) ?? readIdempotencyKey(true)!;
    keysOfCreates.set(body, idempotencyKey);
    const response = client.createPet(pet, { idempotencyKey });
    // Also if the panel shows a later create by then. A refused create keeps its key.
    void response.then(
      () => keysOfCreates.delete(body),
      () => undefined,
    );
    return { url: petsUrl(baseUrl).href, idempotencyKey, body, response };
  };
  await askAdd(prepare, ({ id, name }) => {
    [newest, find('#show').hidden] = [id, false];
    // Meanwhile the next name may have been typed.
    if (find('#name').value === name) find('#name').value = '';
    void list();
    return `Response 201: pet ${id} is stored.`;
  });
}

async function showMetrics(): Promise<void> {
  const url = new URL('metrics', document.baseURI);
  const prepare = (fetchShown: typeof fetch) => {
    const response = send({ operation: 'metrics', url }, sendOptions(fetchShown));
    return { url: url.href, response };
  };
  await askMetrics(prepare, () => 'Response 200.');
}
