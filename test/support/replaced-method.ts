/** Deliberate breaks of a class: one of its methods is replaced while cases run. */

type Method = (this: never, ...args: never[]) => unknown;

/** Runs `run` while the method is the one that `replace` makes of the original. */
export async function withMethod<T, Name extends string>(
  { prototype }: { readonly prototype: Record<Name, Method> },
  name: Name,
  replace: (original: Method) => Method,
  run: () => Promise<T>,
): Promise<T> {
  const original = prototype[name];
  prototype[name] = replace(original);
  try {
    return await run();
  } finally {
    prototype[name] = original;
  }
}
