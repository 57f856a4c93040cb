/**
 * A panel of the page that sends requests. It shows the result of the last one, as a status or an
 * Error in words, the curl line that sends the same request, and the response as it arrived. An
 * error gets the focus.
 */

import type { PetStoreError } from '../../client/pet-store-error.ts';
import { curlLine, quoted, type CurlRequest } from './curl-line.ts';
import { copyOnClick, type Element } from './element.ts';

declare const document: Element;

type SentRequest<T> = CurlRequest & { readonly response: Promise<T> };

/**
 * `prepare` sends a request with the given fetch. `show` returns the text to show for the value of
 * its response. Resolves with the error that is shown instead, if any.
 */
export type Ask = <T>(
  prepare: (fetchShown: typeof fetch) => SentRequest<T>,
  show: (value: T) => string,
) => Promise<Partial<PetStoreError> | undefined>;

export function makeRequestPanel(selector: string): Ask {
  const panel = document.querySelector(selector);
  const [words, curl] = [panel.querySelector('.words'), panel.querySelector('.curl')];
  const [line, copy] = [curl.querySelector('code'), curl.querySelector('button')];
  const received = panel.querySelector('.received');
  copyOnClick(copy, line);
  let last = 0;
  return async (prepare, show) => {
    // A list replaces a list in progress.
    const own = (last += 1);
    const fetchShown: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      const text = await response.clone().text();
      if (own === last) {
        received.querySelector('pre').textContent = responseText(response, text);
        received.hidden = false;
      }
      return response;
    };
    [curl.hidden, received.hidden] = [true, true];
    try {
      const { response, ...sent } = prepare(fetchShown);
      [words.className, words.textContent] = ['words wait', 'Waiting …'];
      line.textContent = curlLine({ ...sent, url: quoted(sent.url) });
      [copy.textContent, curl.hidden] = ['Copy', false];
      const value = await response;
      if (own === last) [words.className, words.textContent] = ['words good', show(value)];
      return undefined;
    } catch (error) {
      if (own !== last) return undefined;
      [words.className, words.textContent] = ['words bad', inWords(error, !curl.hidden)];
      words.focus();
      return error as Partial<PetStoreError>;
    }
  };
}

const SHOWN_FIELDS = ['Content-Type', 'Location', 'Link', 'Idempotent-Replayed', 'Retry-After'];

/** Returns the status, the header fields that a reader needs, and the body exactly. */
function responseText({ status, statusText, headers }: Response, body: string): string {
  const fields = SHOWN_FIELDS.filter((name) => headers.has(name));
  const lines = fields.map((name) => `${name}: ${headers.get(name)}\n`);
  return `${status} ${statusText}\n${lines.join('')}\n${body}`;
}

/** An error without a code is from `prepare`. */
function inWords(error: unknown, isSent: boolean): string {
  const { status, code, message } = error as Partial<PetStoreError>;
  const outcome = status !== undefined ? `Response ${status}` : isSent ? 'No response' : 'Not sent';
  return `${outcome}${code === undefined ? '.' : `, ${code}:`} ${message}.`;
}
