/** A file that cannot be what the store wrote: it is refused, and left as it is. */
export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';

  /** `offset` counts bytes from the start of the file; undefined when no place is known. */
  constructor(path: string, offset: number | undefined, complaint: string) {
    const place = offset === undefined ? '' : ` at byte ${offset}`;
    super(`${path} is damaged${place}: ${complaint}. It was left as it is`);
  }
}
