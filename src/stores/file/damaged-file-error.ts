/** A file is not what the store wrote. The store refuses it, and does not change it. */

export interface Damage {
  readonly path: string;
  /** Where, in bytes from the start of the file; undefined if no position is known. */
  readonly offset?: number | undefined;
  /** The line of that byte, counted from 1; added for the report (line-number.ts). */
  readonly line?: number | undefined;
  /** What is wrong there. */
  readonly complaint: string;
  /** What an operator can do about it. */
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
