/**
 * A column: millions of numbers, at 4 or 8 bytes each.
 *
 * It doubles as it fills; the half that is not used yet was never touched, and so takes no memory
 * of the machine.
 */

export class Column<A extends Uint32Array | BigInt64Array> {
  readonly #allocate: (length: number) => A;
  #values: A;
  length = 0;

  constructor(allocate: (length: number) => A) {
    this.#allocate = allocate;
    this.#values = allocate(4);
  }

  /** Makes room for `count` more values, so that adding them cannot fail. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.#values.length) return;
    const values = this.#allocate(Math.max(needed, 2 * this.#values.length));
    (values as Uint32Array).set(this.#values as Uint32Array);
    this.#values = values;
  }

  push(value: A[number]): void {
    if (this.length === this.#values.length) this.reserve(1);
    this.#values[this.length] = value;
    this.length += 1;
  }

  at(index: number): A[number] {
    return this.#values[index]!;
  }

  /** Returns how many values are less than `bound`, by binary search. They must be ascending. */
  countBelow(bound: A[number]): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#values[middle]! < bound) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
