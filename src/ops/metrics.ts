/** Metrics in the text format of Prometheus, version 0.0.4. */

import type { Operation } from '../http/operation.ts';
import type { PetCount } from '../model/pet-store.ts';

export interface Metrics {
  /** Counts an answer; `operation` is '' where the request was for none. */
  countReply(operation: string, status: number): void;
  /** The operation that shows the metrics. */
  readonly operation: Operation;
}

export function createMetrics(version: string, pets: () => PetCount): Metrics {
  const replies = new Map<string, number>();
  return {
    countReply(operation, status) {
      const labels = `operation="${operation}",status="${status}"`;
      replies.set(labels, (replies.get(labels) ?? 0) + 1);
    },
    operation: {
      name: 'metrics',
      method: 'GET',
      path: '/metrics',
      needsKey: true,
      handle: () => ({
        status: 200,
        headers: ['Content-Type', 'text/plain; version=0.0.4; charset=utf-8'],
        body: Buffer.from(encode(version, replies, pets())),
      }),
    },
  };
}

function encode(version: string, replies: ReadonlyMap<string, number>, pets: PetCount): string {
  const { available, pending, sold } = pets.byStatus;
  const none = pets.total - available - pending - sold;
  const lines = [
    ...describe('petstore_http_responses_total', 'counter', 'Answers by operation and HTTP status'),
    ...[...replies].map(([labels, count]) => `petstore_http_responses_total{${labels}} ${count}`),
    ...describe('petstore_pets', 'gauge', 'Pets by status; without one, the label is empty'),
    ...Object.entries({ ...pets.byStatus, '': none }).map(
      ([status, count]) => `petstore_pets{status="${status}"} ${count}`,
    ),
    ...describe('petstore_build_info', 'gauge', 'Always 1; its label is the version'),
    `petstore_build_info{version="${version}"} 1`,
  ];
  return `${lines.join('\n')}\n`;
}

function describe(name: string, type: 'counter' | 'gauge', help: string): readonly string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}
