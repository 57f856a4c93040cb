/** Counts values by range, and adds them up: the distribution of a quantity. */
export class Histogram {
  /** The greatest value of each range, ascending. One more range has all greater values. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let range = 0;
    while (range < this.bounds.length && value > this.bounds[range]!) range += 1;
    this.counts[range]! += 1;
    this.sum += value;
  }
}
