/** The text format of Prometheus, version 0.0.4: what a metric's lines look like. */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** The lines of one metric. */
export function metric(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(({ labels, value }) => `${name}${encodeLabels(labels)} ${value}\n`);
  return `${header(name, type, help)}${lines.join('')}`;
}

/** How often a value fell below each of some bounds, and the sum of all values. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  /** `bounds` ascend; what is greater than the last is counted too. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum += value;
  }

  /** The lines of the histogram; buckets are cumulative, as the format has them. */
  encode(name: string, help: string): string {
    let count = 0;
    const buckets = [...this.#bounds, '+Inf'].map((bound, index) => {
      count += this.#counts[index]!;
      return `${name}_bucket{le="${bound}"} ${count}\n`;
    });
    const total = `${name}_sum ${this.#sum}\n${name}_count ${count}\n`;
    return `${header(name, 'histogram', help)}${buckets.join('')}${total}`;
  }
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
