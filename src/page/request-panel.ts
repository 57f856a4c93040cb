/**
 * A panel of the page that sends requests, and shows what came of the last one: its status or its
 * Error in words, and the curl line that does the same. An error gets the focus.
 */

import { PetStoreError } from '../client/pet-store-error.ts';

/** What is used of a browser: the compiler's own list would make `name` known to every file. */
export interface Element {
  textContent: string;
  className: string;
  hidden: boolean;
  value: string;
  checked: boolean;
  append(...children: readonly Element[]): void;
  replaceChildren(...children: readonly Element[]): void;
  querySelector(selector: string): Element;
  setAttribute(name: string, value: string): void;
  addEventListener(type: string, listener: (event: { preventDefault(): void }) => void): void;
  focus(): void;
}

declare const document: Element;
declare const navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } };

/** Sends what `prepare` gives, unless that throws, and shows what `show` says of the answer. */
export type Ask = <T>(
  prepare: () => { readonly url: string; readonly body?: string; readonly answer: Promise<T> },
  show: (value: T) => string,
) => Promise<void>;

export function makeRequestPanel(selector: string): Ask {
  const panel = document.querySelector(selector);
  const [words, curl] = [panel.querySelector('.words'), panel.querySelector('.curl')];
  const [line, copy] = [curl.querySelector('code'), curl.querySelector('button')];
  // Without a clipboard, as on a page that came by http from elsewhere, the line can be selected.
  copy.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(line.textContent);
    copy.textContent = navigator.clipboard === undefined ? 'Select it by hand' : 'Copied';
  });
  let [last, isPosting] = [0, false];
  return async (prepare, show) => {
    // A list replaces one that is in progress; a pet must not be added twice.
    if (isPosting) return;
    const own = (last += 1);
    curl.hidden = true;
    try {
      const { url, body, answer } = prepare();
      isPosting = body !== undefined;
      [words.className, words.textContent] = ['words wait', 'Asking …'];
      [line.textContent, copy.textContent, curl.hidden] = [curlLine(url, body), 'Copy', false];
      const value = await answer;
      if (own === last) [words.className, words.textContent] = ['words good', show(value)];
    } catch (error) {
      if (own !== last) return;
      [words.className, words.textContent] = ['words bad', inWords(error)];
      words.focus();
    } finally {
      isPosting = false;
    }
  };
}

function inWords(error: unknown): string {
  if (!(error instanceof PetStoreError)) return `Not sent. ${(error as Error).message}.`;
  const { status, code, message } = error;
  return `${status === undefined ? 'No answer' : `Answer ${status}`}, ${code}: ${message}.`;
}

/** For a POSIX shell, with the key in $API_KEY: so the line can be shown to anybody. */
export function curlLine(url: string, body?: string): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const post = body === undefined ? '' : ` -H 'Content-Type: application/json' -d ${quoted(body)}`;
  return `curl -H "Authorization: Bearer $API_KEY"${post} ${quoted(url)}`;
}
