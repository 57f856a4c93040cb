/**
 * A strict HTML parser for the pages of this service: it requires that every element is closed,
 * every attribute quoted, and every character reference known. It does not repair mistakes.
 */

import assert from 'node:assert/strict';

export interface HtmlElement {
  readonly tag: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Elements, and texts. */
  readonly children: (HtmlElement | string)[];
}

const VOID = new Set(['meta', 'link', 'input', 'wbr']);
const TOKEN = /<!doctype html>|<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"<]*")?)*)\s*>|[^<]+/gy;

/** Parses a document. Returns a root element. The end tag of `html` may be missing. */
export function readHtml(text: string): HtmlElement {
  const root: HtmlElement = { tag: '', attributes: new Map(), children: [] };
  const open = [root];
  let end = 0;
  for (const [token, slash, tag, given = ''] of text.matchAll(TOKEN)) {
    end += token.length;
    if (tag === undefined) {
      if (!token.startsWith('<')) open.at(-1)!.children.push(decode(token));
    } else if (slash === '/') {
      assert.equal(open.pop()!.tag, tag, `Not closed before ${text.slice(end - 80, end)}`);
    } else {
      const pairs = [...given.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)];
      const attributes = new Map(pairs.map(([, name, value = '']) => [name!, decode(value)]));
      assert.equal(attributes.size, pairs.length, token);
      const element = { tag, attributes, children: [] };
      open.at(-1)!.children.push(element);
      if (!VOID.has(tag)) open.push(element);
    }
  }
  assert.equal(end, text.length, `Not HTML: ${text.slice(end, end + 80)}`);
  assert.deepEqual(
    open.slice(2).map(({ tag }) => tag),
    [],
  );
  return root;
}

const REFERENCES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&quot;': '"' };

function decode(text: string): string {
  return text.replace(/&[^;]{0,8};?/g, (reference) => {
    assert.ok(reference in REFERENCES, `Unknown reference ${reference}`);
    return REFERENCES[reference]!;
  });
}

/** Yields the element and all its descendants, in document order. */
export function* elementsOf(element: HtmlElement): Generator<HtmlElement> {
  yield element;
  for (const child of element.children) if (typeof child !== 'string') yield* elementsOf(child);
}

/** Returns the text of an element with its whitespace. */
export function textOf({ children }: HtmlElement): string {
  return children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
}
