/** What people read when the service has started: where it is, and how to add the first pet. */

import type { AppOptions } from '../app.ts';
import type { LogDetails } from '../core/base/logger.ts';
import { VERSION } from '../core/base/version.ts';

/** Where the pets are. */
export interface Backend {
  /** What follows "Petstore listens on … and". */
  readonly sentence: string;
  /** The same for the log. */
  readonly details: LogDetails;
}

export function describeBackend({ dataFile, memory }: AppOptions): Backend {
  if (dataFile !== undefined) {
    return { sentence: `keeps its pets in ${dataFile}`, details: { dataFile: String(dataFile) } };
  }
  const sentence = 'keeps its pets in memory only, until it ends';
  if (typeof memory !== 'object') return { sentence, details: { memory: true } };
  return {
    sentence: `${sentence}; it began with those of ${memory.dataFile}`,
    details: { dataFile: String(memory.dataFile), memory: true },
  };
}

export interface Greeting extends Pick<Backend, 'sentence'> {
  /** Undefined on a Unix socket. */
  readonly url: string | undefined;
  readonly prefix: string;
  readonly generatedKey: string | undefined;
  readonly hasPage: boolean;
  readonly pid: number;
}

export function greet({ url, prefix, sentence, generatedKey, hasPage, pid }: Greeting): string {
  // A wildcard address is where the service listens, not where a client can reach it.
  const base =
    url?.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:') ??
    `http://localhost${prefix}`;
  const key = generatedKey ?? '<your API key>';
  const note =
    generatedKey === undefined
      ? ''
      : `No API key is configured, so one was made for this run: ${generatedKey}\n`;
  const isPageShown = hasPage && url !== undefined;
  const curl = url === undefined ? 'curl --unix-socket <path of the socket>' : 'curl';
  return `Petstore ${VERSION} listens on ${url ?? 'an inherited Unix socket'} (process ${pid})
and ${sentence}
${note}
${isPageShown ? `Open ${base}/ in a browser, or add` : 'Add'} a pet, then list the pets:

  ${curl} -H 'Authorization: Bearer ${key}' -d '{"name":"Rex","categoryId":1}' -H 'Content-Type: application/json' ${base}/v1/pets
  ${curl} -H 'Authorization: Bearer ${key}' ${base}/v1/pets
`;
}
