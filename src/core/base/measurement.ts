/** What a store measures, as rows that say what they are, for a program that shows them. */

import type { Histogram } from './histogram.ts';

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
