/**
 * A name as a visitor can see it. Spaces at its ends, runs of spaces, and characters that are
 * invisible or change the direction of a text are marked: `a`, U+200B and `b` look like “ab”
 * otherwise. The text of the elements is the name itself, so that it can be copied; style.ts shows
 * the mark of `data-mark` instead.
 */

import { make, type Element } from './element.ts';

const INVISIBLE = String.raw`\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u00A0\u1680\u2000-\u200A\u202F\u205F\u2800\u3000`;

/**
 * Matches what to mark (in a group), or a text between marks. The joiner and the variation selector
 * of an emoji belong to the text.
 */
const PARTS = new RegExp(
  String.raw`(^ +| +$| {2,}|([${INVISIBLE}])\2*)|(?:[0-9#*]\uFE0F\u20E3` +
    String.raw`|[\p{Extended_Pictographic}\p{EMod}]\uFE0F?\u200D?|[^ ${INVISIBLE}]| (?! |$))+`,
  'gu',
);

/** A name with more characters, or more changes of marks and text, is shown whole on demand. */
const MAX_SHOWN = 60;
const MAX_PARTS = 12;

export function showName(cell: Element, name: string): void {
  const isShort = name.length <= MAX_SHOWN && [...name.matchAll(PARTS)].length <= MAX_PARTS;
  if (isShort) return appendMarked(cell, name);
  const [details, summary, whole] = [make('details'), make('summary'), make('p')];
  // By code points, so that no surrogate pair is cut.
  appendMarked(summary, [...name.slice(0, 2 * MAX_SHOWN)].slice(0, MAX_SHOWN).join(''));
  summary.append(` … (${name.length} characters)`);
  // Only on demand, since a page of long names could have a million marks.
  details.addEventListener('toggle', () => [whole.replaceChildren(), appendMarked(whole, name)]);
  whole.setAttribute('tabindex', '0');
  details.append(summary, whole);
  cell.append(details);
}

function appendMarked(parent: Element, name: string): void {
  for (const [text, odd] of name.matchAll(PARTS)) {
    if (odd === undefined) parent.append(text);
    else {
      const part = make('span', '', text);
      part.setAttribute('data-mark', markOf(odd));
      parent.append(part);
    }
  }
}

function markOf(odd: string): string {
  if (odd.startsWith(' ')) return '␣'.repeat(odd.length);
  const [character = ''] = odd;
  const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
  return odd === character ? code : `${code} × ${odd.length / character.length}`;
}
