/**
 * The log in etcd is not the one that this process has applied, or this process cannot read it any
 * further. The process must stop using it: other processes might not find what it stores.
 */
export class LogLostError extends Error {
  override readonly name: string = 'LogLostError';
}
