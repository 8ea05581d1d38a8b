// Converts streams of Node to web streams. Node's own converters report an error where a pipe only ends.

/** Returns a `ReadableStream` of a stream of Node. A broken pipe counts as the end. */
export function toReadableStream(source) {
  let isOpen = true;
  return new ReadableStream({
    start(controller) {
      const end = () => {
        if (isOpen) controller.close();
        isOpen = false;
      };
      source.on("data", (chunk) => {
        if (!isOpen) return;
        controller.enqueue(chunk);
        if (/** @type {number} */ (controller.desiredSize) <= 0) source.pause();
      });
      for (const event of ["end", "close", "error"]) source.on(event, end);
    },
    pull() {
      source.resume();
    },
    cancel() {
      isOpen = false;
      source.destroy();
    },
  });
}

/**
 * Returns a `WritableStream` that writes to a stream of Node, and waits while that stream is full. Calls `onEnd` once
 * all chunks are written, or no more can be written. While the process exits, `FrameWriter` calls the member
 * `writeNow(chunks)` of the `WritableStream`, which synchronously writes the chunks that were not written yet.
 */
export function toWritableStream(target, onEnd = () => target.end()) {
  let last;
  /**
   * Ends the pending write, with an error if it failed.
   * @type {(error?: unknown) => void}
   */
  let endWrite = () => {};
  let isCorked = false;
  const stream = new WritableStream({
    start(controller) {
      const fail = (error) => {
        controller.error(error);
        endWrite(error);
      };
      target.on("error", fail);
      target.on("close", () => fail(new Error("the pipe is closed")));
      target.on("drain", () => endWrite());
      // A pending write must not delay an abort.
      controller.signal.addEventListener("abort", () => endWrite(controller.signal.reason));
    },
    write(chunk) {
      if (!isCorked) {
        // All chunks of one turn of the event loop are written by one system call.
        isCorked = true;
        target.cork();
        process.nextTick(() => {
          isCorked = false;
          target.uncork();
        });
      }
      last = chunk;
      if (target.write(chunk)) return;
      return new Promise(
        (resolve, reject) => (endWrite = (error) => (error === undefined ? resolve() : reject(error))),
      );
    },
    close() {
      onEnd();
    },
    abort() {
      onEnd();
    },
  });
  const writeNow = (chunks) => {
    if (isCorked) target.uncork();
    isCorked = false;
    for (const chunk of chunks) {
      if (chunk === undefined || chunk === last) continue;
      last = chunk;
      target.write(chunk);
    }
  };
  return Object.assign(stream, { writeNow });
}
