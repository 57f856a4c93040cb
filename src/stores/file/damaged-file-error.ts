/** A file that cannot be what the store wrote: it is refused, and left as it is. */

export interface Damage {
  readonly path: string;
  /** Where, in bytes from the start of the file; undefined if no position is known. */
  readonly offset?: number | undefined;
  /** The line of that byte, counted from 1; found out when it is told (line-number.ts). */
  readonly line?: number | undefined;
  /** What was found there. */
  readonly complaint: string;
  /** What somebody can do about it. */
  readonly advice: string;
}

export class DamagedFileError extends Error {
  override readonly name: string = 'DamagedFileError';
  readonly damage: Damage;

  constructor(damage: Damage) {
    const { path, offset, line, complaint, advice } = damage;
    const byte = offset === undefined ? '' : ` at byte ${offset}`;
    const inLine = line === undefined ? '' : `, line ${line}`;
    super(`${path} is damaged${byte}${inLine}: ${complaint}. It was left as it is. ${advice}`);
    this.damage = damage;
  }
}
