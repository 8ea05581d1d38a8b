// The running requests of the peer, for the link. `InFlightRequests` of WIPC has the same rules for a channel that
// reports when its output is written. This module does not use that class, which would add 117 bytes of gzip.

import { MAX_IN_FLIGHT_BYTES, MAX_UNWRITTEN_BYTES, STREAM_BUFFER_BYTES } from "../driver/limit-values.js";

/**
 * `isOver(bytes)` returns whether more than `bytes` bytes are unsent. `pause` returns a promise for the next check of a
 * full buffer.
 */
export function runningRequests(isOver, pause) {
  /** Maps each running request to the value that `last` had when the request arrived. */
  const running = new Map();
  let runningBytes = 0;
  /** The last message of the peer, as an array: its bytes, and the number of its requests that run. */
  let last;

  return {
    /** Called when a message arrives, with its bytes. */
    arrived: (bytes) => void (last = [bytes, 0]),
    /** Adds a request. Returns false if too many bytes are in flight, or if too many bytes are unsent. */
    add(request) {
      // All bytes of a batch count until its last request has ended.
      const bytes = last[1] ? 0 : last[0];
      if ((bytes && running.size && runningBytes + bytes > MAX_IN_FLIGHT_BYTES) || isOver(MAX_UNWRITTEN_BYTES))
        return false;
      runningBytes += bytes;
      last[1]++;
      running.set(request, last);
      return true;
    },
    delete(request) {
      const message = running.get(request);
      running.delete(request);
      if (message && !--message[1]) runningBytes -= message[0];
    },
    clear() {
      running.clear();
      runningBytes = 0;
    },
    /** Returns an iterator of the items of a stream. It waits while more than `STREAM_BUFFER_BYTES` are unsent. */
    paced: (items) =>
      items && {
        async next() {
          while (isOver(STREAM_BUFFER_BYTES)) await pause();
          return items.next();
        },
        return: (value) => items.return?.(value),
      },
  };
}
