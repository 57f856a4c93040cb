/**
 * The log in etcd is not the one that this process has applied so far, or cannot be read on: it
 * works no more, since all that it would store could be out of everybody's reach.
 */
export class LogLostError extends Error {
  override readonly name: string = 'LogLostError';
}
