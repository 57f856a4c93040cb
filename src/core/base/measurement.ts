/** What a store measures, as rows that say what they are, for a program that shows them. */

export interface Measurement {
  /** A counter only grows. A gauge is a state. */
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly name: string;
  /** One line that says what is measured. */
  readonly help: string;
  readonly value: MeasuredValue | readonly LabelledSample[];
}

/** A store may have a class of its own for histograms. */
export type MeasuredValue =
  number | (Pick<Histogram, 'bounds' | 'sum'> & { readonly counts: ArrayLike<number> });

/** One of several values, which differ in their labels. */
export interface LabelledSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: MeasuredValue;
}

/** Returns a row of a store of this package: all their names begin with `petstore_`. */
export function row(
  type: Measurement['type'],
  name: string,
  help: string,
  value: Measurement['value'],
): Measurement {
  return { type, name: `petstore_${name}`, help, value };
}

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
