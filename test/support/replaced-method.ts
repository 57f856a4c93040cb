/** Deliberate breaks of a class: one of its methods is replaced while cases run. */

/** Runs `run` while the method is the one that `replace` makes of the original. */
export async function withMethod<Methods, Name extends keyof Methods, T>(
  { prototype }: { readonly prototype: Methods },
  name: Name,
  replace: (original: Methods[Name]) => Methods[Name],
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
