/** The text format of Prometheus, version 0.0.4. */

import type { Histogram } from '../base/histogram.ts';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | Histogram;
}

/** A number or a histogram is one sample without labels. Undefined: the metric has no lines. */
type MetricValue = number | Histogram | readonly Sample[] | undefined;

/** The metrics by type and name. */
export type MetricTable = Readonly<
  Record<'counter' | 'gauge' | 'histogram', Readonly<Record<string, Metric>>>
>;

type Metric = readonly [help: string, value: MetricValue];

/** Returns the lines of all metrics. */
export function encodeMetrics(table: MetricTable): string {
  const lines = Object.entries(table).flatMap(([type, metrics]) =>
    Object.entries(metrics).map(([name, metric]) => encodeMetric(name, type, metric)),
  );
  return lines.join('');
}

function encodeMetric(name: string, type: string, [help, value]: Metric): string {
  if (value === undefined) return '';
  // Not `instanceof Histogram`: the histogram may be of another store's own class.
  const isList = typeof value === 'object' && 'length' in value;
  const samples = isList ? value : [{ labels: {}, value }];
  const lines = samples.map((sample) => encodeSample(name, sample));
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function encodeSample(name: string, { labels, value }: Sample): string {
  const all = encodeLabels(labels);
  if (typeof value !== 'object') return `${name}${all} ${value}\n`;
  let count = 0;
  // The format has cumulative buckets.
  const buckets = [...value.bounds, '+Inf'].map((bound, index) => {
    count += value.counts[index]!;
    return `${name}_bucket${encodeLabels({ ...labels, le: String(bound) })} ${count}\n`;
  });
  return `${buckets.join('')}${name}_sum${all} ${value.sum}\n${name}_count${all} ${count}\n`;
}

function encodeLabels(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    // A backslash, a quote or a line feed.
    return `${name}="${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
