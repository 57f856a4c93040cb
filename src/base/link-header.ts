/**
 * The Link header field (RFC 8288 section 3): the first target that it holds of a relation type.
 *
 *     </v1/pets?after=20>; rel="next", <https://example.org/>; rel="up help"; title="a, \"b\""
 *
 * A field that cannot be read to its end is an error, and not the same as none: a list would end
 * early, and nobody would know.
 */

/**
 * The target of the first link with this relation type, as it stands there; undefined when there is
 * none. Throws a SyntaxError. Links with an anchor are about another resource, and passed over.
 */
export function findLink(field: string, relation: string): string | undefined {
  let found: string | undefined;
  let at = 0;
  while (at < field.length) {
    const target = matchAt(TARGET, field, at);
    if (target === undefined) throw new SyntaxError(`Expected a link at character ${at}`);
    at += target[0].length;
    if (target[1] === undefined) continue;
    const { parameters, end } = readParameters(field, at);
    at = end;
    const relations = (parameters.get('rel') ?? '').toLowerCase().split(/[ \t]+/);
    if (relations.includes(relation) && !parameters.has('anchor')) found ??= target[1];
  }
  return found;
}

interface Parameters {
  readonly parameters: ReadonlyMap<string, string>;
  /** The offset after them, and after the comma that ends the link. */
  readonly end: number;
}

function readParameters(field: string, start: number): Parameters {
  const parameters = new Map<string, string>();
  let at = start;
  for (;;) {
    const end = matchAt(END, field, at);
    if (end !== undefined) return { parameters, end: at + end[0].length };
    const name = matchAt(NAME, field, at);
    if (name === undefined) throw new SyntaxError(`Expected a parameter at character ${at}`);
    at += name[0].length;
    const value = matchAt(VALUE, field, at);
    at += value?.[0].length ?? 0;
    const key = name[1]!.toLowerCase();
    // Of several rel parameters the first one counts (section 3.3).
    if (parameters.has(key)) continue;
    parameters.set(key, value?.[1]?.replace(/\\(.)/g, '$1') ?? value?.[2] ?? '');
  }
}

/** A list may have empty elements (RFC 9110 section 5.6.1.2): then there is no target. */
const TARGET: RegExp = /[ \t]*(?:<([^>]*)>|,|$)/y;
const END: RegExp = /[ \t]*(?:,|$)/y;
const NAME: RegExp = /[ \t]*;[ \t]*([^\s"(),/:;<=>?@[\\\]{}]*)/y;
/** Quoted, or a token. */
const VALUE: RegExp = /[ \t]*=[ \t]*(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^\s",;]+))/y;

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
