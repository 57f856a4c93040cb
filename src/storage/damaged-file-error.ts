/** A file that cannot be what the store wrote: it is refused, and left as it is. */
export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';

  /** `offset` counts bytes from the start of the file. */
  constructor(path: string, offset: number, complaint: string) {
    super(`${path} is damaged at byte ${offset}: ${complaint}. It was left as it is`);
  }
}
