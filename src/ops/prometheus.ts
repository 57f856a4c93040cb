/** The text format of Prometheus, version 0.0.4. */

import type { Histogram } from '../base/histogram.ts';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** Returns the lines of one metric. */
export function metric(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(({ labels, value }) => `${name}${encodeLabels(labels)} ${value}\n`);
  return `${header(name, type, help)}${lines.join('')}`;
}

/** Returns the lines of a counter, whose name ends in `_total`, or a gauge. '' without a value. */
export function single(name: string, help: string, value: number | undefined): string {
  const type = name.endsWith('_total') ? 'counter' : 'gauge';
  return value === undefined ? '' : metric(name, type, help, [{ value }]);
}

/** Returns the lines of a histogram without labels. '' without a histogram. */
export function encodeHistogram(name: string, help: string, histogram?: Histogram): string {
  return histogram === undefined ? '' : encodeHistograms(name, help, [{ labels: {}, histogram }]);
}

export interface HistogramSample {
  readonly labels: Labels;
  readonly histogram: Histogram;
}

/** Returns the lines of a histogram with labels. The format has cumulative buckets. */
export function encodeHistograms(
  name: string,
  help: string,
  samples: readonly HistogramSample[],
): string {
  const lines = samples.flatMap(({ labels, histogram }) => {
    let count = 0;
    const buckets = [...histogram.bounds, '+Inf'].map((bound, index) => {
      count += histogram.counts[index]!;
      return `${name}_bucket${encodeLabels({ ...labels, le: String(bound) })} ${count}\n`;
    });
    const all = encodeLabels(labels);
    return [...buckets, `${name}_sum${all} ${histogram.sum}\n`, `${name}_count${all} ${count}\n`];
  });
  return `${header(name, 'histogram', help)}${lines.join('')}`;
}

function header(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function encodeLabels(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
