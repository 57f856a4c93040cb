/** Deliberate breaks of a class: one of its methods is replaced while cases run. */

type Method = (...args: never[]) => unknown;
type MethodOf<Class, Name extends keyof Class> = Extract<Class[Name], Method>;

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

/** Runs `run` while something is changed. */
export type Change = <T>(run: () => Promise<T>) => Promise<T>;

/**
 * Changes a method of a class. `change` gets the original, bound to its object, and the object. It
 * returns what is called instead.
 */
export function inClass<Class, Name extends keyof Class>(
  target: { readonly prototype: Class },
  name: Name,
  change: (
    original: MethodOf<Class, Name>,
    self: Class,
  ) => (...args: Parameters<MethodOf<Class, Name>>) => unknown,
): Change {
  const replace = (original: Class[Name]): Class[Name] =>
    function (this: Class, ...args: Parameters<MethodOf<Class, Name>>) {
      return change((original as Method).bind(this) as MethodOf<Class, Name>, this)(...args);
    } as Class[Name];
  return (run) => withMethod(target, name, replace, run);
}
