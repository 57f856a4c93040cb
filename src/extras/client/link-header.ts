/**
 * The Link header field (RFC 8288 section 3): finds the first target with a relation type.
 *
 *     </v1/pets?after=20>; rel="next", <https://example.org/>; rel="up help"; title="a, \"b\""
 *
 * A field that cannot be read to its end is an error. If it counted as a field without links, a
 * client would silently miss the rest of a list.
 */

/**
 * Returns the target of the first link with this relation type, as it was sent, or undefined if
 * there is none. Skips links with an anchor, which are about another resource. Throws a
 * SyntaxError.
 */
export function findLink(field: string, relation: string): string | undefined {
  let found: string | undefined;
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(field) ?? undefined;
    at += match?.[0].length ?? 0;
    return match;
  };
  while (at < field.length) {
    const target = take(TARGET);
    if (target === undefined) throw new SyntaxError(`Expected a link at character ${at}`);
    if (target[1] === undefined) continue;
    const parameters = new Map<string, string>();
    while (take(END) === undefined) {
      const parameter = take(PARAMETER);
      if (parameter === undefined) throw new SyntaxError(`Expected a parameter at character ${at}`);
      const [, name = '', quoted, token = ''] = parameter;
      const key = name.toLowerCase();
      // Of several rel parameters the first one counts (section 3.3).
      if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(.)/g, '$1') ?? token);
    }
    const relations = (parameters.get('rel') ?? '').toLowerCase().split(/[ \t]+/);
    if (relations.includes(relation) && !parameters.has('anchor')) found ??= target[1];
  }
  return found;
}

/** A list may have empty elements (RFC 9110 section 5.6.1.2), which have no target. */
const TARGET: RegExp = /[ \t]*(?:<([^>]*)>|,|$)/y;
const END: RegExp = /[ \t]*(?:,|$)/y;
/** A name, and perhaps a value: a quoted string or a token. */
const NAME: RegExp = /[ \t]*;[ \t]*([^\s"(),/:;<=>?@[\\\]{}]*)/;
const VALUE: RegExp = /[ \t]*=[ \t]*(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^\s",;]+))/;
const PARAMETER = new RegExp(`${NAME.source}(?:${VALUE.source})?`, 'y');
