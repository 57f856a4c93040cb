/** The Link header field: the target of a relation, out of all that RFC 8288 allows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLink } from '../../src/extras/client/link-header.ts';

const FIELDS: readonly (readonly [field: string, target: string | undefined])[] = [
  ['</a>; rel="next"', '/a'],
  ['  </a>  ;  rel = next  ', '/a'],
  ['</a>; REL="NEXT"', '/a'],
  ['</a>; rel="prev \t next last"', '/a'],
  ['</a>; rel', undefined],
  ['', undefined],
  [' , ,', undefined],
  ['<?after=2>; rel=next', '?after=2'],
  ['<https://a.example/x,y;z?q="1">; rel="next"', 'https://a.example/x,y;z?q="1"'],
  [',, </a>; rel="prev",, </b>; rel="next", </c>; rel="next",', '/b'],
  ['<>; rel=next', ''],
  ['</a>; title="x, </b>; rel=\\"next\\""; rel="prev"', undefined],
  ['</a>; title="\\\\"; rel="next"', '/a'],
  ['</a>; rel="n\\ext"', '/a'],
  ["</a>; title*=UTF-8''%e2%82%ac; rel=next", '/a'],
  ['</a>; rel="next"; rel="prev"', '/a'],
  ['</a>; rel="prev"; rel="next"', undefined],
  ['</a>;; rel="next"', '/a'],
  ['</a>; rel="next"; anchor="/elsewhere", </b>; rel=next', '/b'],
];

test('The Link to the next page is found, whatever stands around it', () => {
  for (const [field, target] of FIELDS) assert.equal(findLink(field, 'next'), target, field);
});

const BROKEN: readonly string[] = [
  ...['/a; rel="next"', '</a', '</a>; rel="next', '</a>; rel=', '</a>; rel="next" </b>; rel=prev'],
  ...['</a> rel="next"', '</a>; rel="next"x', '</a>; "next"', '</a>; rel=ne"xt"', 'x'],
  '</a>; rel="next", /b',
];

test('A Link that cannot be read to its end is an error', () => {
  for (const field of BROKEN) assert.throws(() => findLink(field, 'next'), SyntaxError, field);
});
