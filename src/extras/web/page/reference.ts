/**
 * The module of the reference, which is complete without it. It puts in the address from which the
 * reference was loaded, which the browser knows behind any proxy, and the service does not. It adds
 * buttons that copy the examples, marks the current section in the table of contents, and folds
 * that table on a phone.
 */

import { copyOnClick, make, type Element } from './element.ts';

declare const document: Element & {
  querySelectorAll(selector: string): Iterable<Element>;
  getElementById(id: string): Element & { getBoundingClientRect(): { readonly top: number } };
};
declare const location: { readonly origin: string };
declare function matchMedia(query: string): { readonly matches: boolean };
declare function addEventListener(type: string, listener: () => void): void;

for (const address of document.querySelectorAll('.address')) address.textContent = location.origin;

for (const sample of document.querySelectorAll('.sample')) {
  const button = make('button', '', 'Copy');
  copyOnClick(button, sample.querySelector('pre'));
  sample.querySelector('.ends').append(button);
}

document.querySelector('.contents').open = matchMedia('(min-width: 48rem)').matches;

const sections = Array.from(document.querySelectorAll('.contents a'), (link) => {
  return { link, section: document.getElementById(link.hash.slice(1)) };
});

/** The current section is the last one that begins in the upper part of the window. */
function markCurrent(): void {
  const begun = sections.filter(({ section }) => section.getBoundingClientRect().top < 200);
  const current = begun.at(-1)?.link;
  for (const { link } of sections) link.setAttribute('aria-current', `${link === current}`);
}

addEventListener('scroll', markCurrent);
markCurrent();
