/**
 * A simulated etcd, with its keys in memory. real.test.ts sends the same transactions to it and a
 * real one, and compares the responses. It has only what the store uses: compares of CREATE and
 * VALUE, put and range.
 */

interface Entry {
  value: string;
  createRevision: bigint;
  modRevision: bigint;
  version: bigint;
}

interface Compare {
  readonly target: 'CREATE' | 'VALUE';
  readonly result: 'EQUAL' | 'GREATER' | 'LESS';
  readonly key: string;
  readonly range_end?: string;
  readonly create_revision?: string;
  readonly value?: string;
}

interface RangeRequest {
  readonly key: string;
  readonly range_end?: string;
  readonly limit?: string;
  readonly keys_only?: boolean;
}

interface Request {
  readonly request_put?: { readonly key: string; readonly value: string };
  readonly request_range?: RangeRequest;
}

interface Txn {
  readonly compare: readonly Compare[];
  readonly success: readonly Request[];
  readonly failure: readonly Request[];
}

export class SimulatedEtcd {
  /** The entries by their keys, which are base64 in JSON only. */
  readonly entries: Map<string, Entry> = new Map();
  revision = 1n;
  clusterId = '1';

  /** Does the transaction of a JSON request. Returns the JSON of the response. */
  txn(text: string): string {
    const { compare, success, failure } = JSON.parse(text) as Txn;
    const succeeded = compare.every((one) => this.#holds(one));
    const requests = succeeded ? success : failure;
    if (requests.some((request) => request.request_put !== undefined)) this.revision += 1n;
    const header = this.#header();
    const responses = requests.map((request) => this.#do(request));
    return JSON.stringify({
      header,
      ...(succeeded ? { succeeded } : {}),
      ...(responses.length > 0 ? { responses } : {}),
    });
  }

  #header(): object {
    return { cluster_id: this.clusterId, revision: String(this.revision) };
  }

  #holds({
    target,
    result,
    key,
    range_end: end,
    create_revision: revision = '0',
    value,
  }: Compare): boolean {
    const entries = this.#between(decode(key), end === undefined ? undefined : decode(end));
    if (target === 'VALUE') {
      const order = { EQUAL: 0, GREATER: 1, LESS: -1 }[result];
      const bytes = Buffer.from(value ?? '', 'base64');
      const isSo = (entry: Entry): boolean =>
        Buffer.from(entry.value, 'base64').compare(bytes) === order;
      return entries.length > 0 && entries.every(([, entry]) => isSo(entry));
    }
    // A missing key compares as if it was created at revision 0.
    if (entries.length === 0) return revision === '0';
    return entries.every(([, { createRevision }]) => String(createRevision) === revision);
  }

  #do({ request_put: put, request_range: range }: Request): object {
    const header = { revision: String(this.revision) };
    if (put !== undefined) {
      const key = decode(put.key);
      const old = this.entries.get(key);
      this.entries.set(key, {
        value: put.value,
        createRevision: old?.createRevision ?? this.revision,
        modRevision: this.revision,
        version: (old?.version ?? 0n) + 1n,
      });
      return { response_put: { header } };
    }
    if (range === undefined) throw new Error('A request that is not simulated');
    return { response_range: { header, ...this.#range(range) } };
  }

  #range({
    key,
    range_end: end,
    limit = '0',
    keys_only: isKeysOnly = false,
  }: RangeRequest): object {
    const found = this.#between(decode(key), end === undefined ? undefined : decode(end));
    const count = found.length === 0 ? {} : { count: String(found.length) };
    const most = limit === '0' ? found.length : Number(limit);
    const kvs = found.slice(0, most).map(([name, entry]) => ({
      key: Buffer.from(name, 'latin1').toString('base64'),
      create_revision: String(entry.createRevision),
      mod_revision: String(entry.modRevision),
      version: String(entry.version),
      ...(entry.value === '' || isKeysOnly ? {} : { value: entry.value }),
    }));
    return {
      ...(kvs.length > 0 ? { kvs } : {}),
      ...(found.length > most ? { more: true } : {}),
      ...count,
    };
  }

  /** Returns entries in the order of their keys. */
  #between(key: string, end: string | undefined): readonly (readonly [string, Entry])[] {
    if (end === undefined) {
      const entry = this.entries.get(key);
      return entry === undefined ? [] : [[key, entry]];
    }
    return [...this.entries]
      .filter(([name]) => name >= key && name < end)
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

function decode(key: string): string {
  return Buffer.from(key, 'base64').toString('latin1');
}
