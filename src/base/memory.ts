/**
 * Memory: where the stores get what may be large.
 *
 * They take it from outside, as they take the disk, so that the tests can let each request fail. It
 * fails by throwing, as Node's own functions do when the system has no more to give.
 */

export interface Memory {
  /** Bytes that may hold anything. */
  bytes(length: number): Buffer;
  uint32s(length: number): Uint32Array;
  int64s(length: number): BigInt64Array;
}

export const systemMemory: Memory = {
  // Not from the pool that Node shares among small buffers: what lives long would keep all of it.
  bytes: (length) => Buffer.allocUnsafeSlow(length),
  uint32s: (length) => new Uint32Array(length),
  int64s: (length) => new BigInt64Array(length),
};
