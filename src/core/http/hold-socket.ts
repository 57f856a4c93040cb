/**
 * Keeps a socket from being read while something waits, although node:http resumes it: after each
 * response, after the body of each request, and when a slow client has read a part of a response.
 *
 * A stream emits `resume` one tick after the call. If it was paused in between, node:http reads it
 * from that event on all the same, and a second `pause` does nothing, since the stream is paused
 * already. So it is resumed once more: then the pause at the next `resume` is one that stops it.
 */

import type { Socket } from 'node:net';

/** Holds the socket whenever it is resumed while `isHeld` returns true. */
export function holdWhile(socket: Socket, isHeld: () => boolean): void {
  let wasPaused = false;
  // Before node:http, which may pause the socket by itself at this event.
  socket.prependListener('resume', () => (wasPaused = socket.readableFlowing === false));
  socket.on('resume', () => {
    if (!isHeld()) return;
    if (wasPaused) socket.resume();
    else socket.pause();
  });
}

/** Stops the reading of a socket that `holdWhile` watches. */
export function hold(socket: Socket): void {
  if (socket.readableFlowing === true) socket.pause();
  // `null` is a socket that nobody reads.
  else if (socket.readableFlowing === false) socket.resume();
}
