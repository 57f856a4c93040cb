/**
 * A column: ascending numbers, millions of them, at 4 or 8 bytes each.
 */

type TypedArray = Uint32Array | BigInt64Array;

/**
 * A typed array that doubles as it fills; the unused half is never touched, so it takes no physical
 * memory.
 */
export class Column<A extends TypedArray> {
  readonly #type: new (length: number) => A;
  #values: A;
  length = 0;

  constructor(type: new (length: number) => A) {
    this.#type = type;
    this.#values = new type(4);
  }

  push(value: A[number]): void {
    if (this.length === this.#values.length) {
      const values = new this.#type(2 * this.length);
      (values as Uint32Array).set(this.#values as Uint32Array);
      this.#values = values;
    }
    this.#values[this.length] = value;
    this.length += 1;
  }

  at(index: number): A[number] {
    return this.#values[index]!;
  }

  /** How many values are less than `bound`: binary search. */
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
