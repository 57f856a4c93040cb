/**
 * Memory: allocates the large buffers of the stores.
 *
 * The stores get it as a dependency, like the disk, so that tests can make each allocation fail. A
 * failed allocation throws, as Node's own functions do if the system has no memory left.
 */

export interface Memory {
  /** The bytes are not initialized. */
  bytes(length: number): Buffer;
  uint32s(length: number): Uint32Array;
  int64s(length: number): BigInt64Array;
}

export const systemMemory: Memory = {
  // Not from Node's pool of small buffers: a long-lived slice would keep the whole pool.
  bytes: (length) => Buffer.allocUnsafeSlow(length),
  uint32s: (length) => new Uint32Array(length),
  int64s: (length) => new BigInt64Array(length),
};
