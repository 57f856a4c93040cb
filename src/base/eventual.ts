/** Values that may be known already, so that a caller need not wait for a promise of them. */

/** A value, or the promise of one. */
export type Eventual<T> = T | Promise<T>;

/** Calls `use` with the value: immediately if it is known, else when its promise resolves. */
export function whenKnown<T, U>(value: Eventual<T>, use: (value: T) => U): U | Promise<U> {
  return isPromise(value) ? Promise.resolve(value).then(use) : use(value);
}

function isPromise<T>(value: Eventual<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function';
}
