/**
 * A panel of the page that sends requests. It shows the result of the last one, as a status or an
 * Error in words, and the curl line that sends the same request. An error gets the focus.
 */

import type { PetStoreError } from '../client/pet-store-error.ts';
import { curlLine } from './curl-line.ts';

/** What the page uses of the DOM. The compiler's DOM types would declare `name` globally. */
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

/** `prepare` sends a request. `show` returns the text to show for the value of its response. */
export type Ask = <T>(
  prepare: () => { readonly url: string; readonly body?: string; readonly response: Promise<T> },
  show: (value: T) => string,
) => Promise<void>;

export function makeRequestPanel(selector: string): Ask {
  const panel = document.querySelector(selector);
  const [words, curl] = [panel.querySelector('.words'), panel.querySelector('.curl')];
  const [line, copy] = [curl.querySelector('code'), curl.querySelector('button')];
  // Without https, a page from another machine has no clipboard.
  copy.addEventListener('click', async () => {
    await navigator.clipboard?.writeText(line.textContent);
    copy.textContent = navigator.clipboard === undefined ? 'Select it by hand' : 'Copied';
  });
  let [last, isPosting] = [0, false];
  return async (prepare, show) => {
    // A list replaces a list in progress. While a create is in progress, a second one is ignored: a
    // pet must not be added twice.
    if (isPosting) return;
    const own = (last += 1);
    curl.hidden = true;
    try {
      const { url, body, response } = prepare();
      isPosting = body !== undefined;
      [words.className, words.textContent] = ['words wait', 'Waiting …'];
      [line.textContent, copy.textContent, curl.hidden] = [curlLine(url, body), 'Copy', false];
      const value = await response;
      if (own === last) [words.className, words.textContent] = ['words good', show(value)];
    } catch (error) {
      if (own !== last) return;
      [words.className, words.textContent] = ['words bad', inWords(error, !curl.hidden)];
      words.focus();
    } finally {
      isPosting = false;
    }
  };
}

/** An error without a code is from `prepare`, or from a fetch without the client. */
function inWords(error: unknown, isSent: boolean): string {
  const { status, code, message } = error as Partial<PetStoreError>;
  const outcome = status !== undefined ? `Response ${status}` : isSent ? 'No response' : 'Not sent';
  return `${outcome}${code === undefined ? '.' : `, ${code}:`} ${message}.`;
}
