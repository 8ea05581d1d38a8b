// Streams of Node as those of the web. Node's own converters end a stream with an error of theirs where a pipe merely ends.

/** What is read from a stream; a pipe that breaks has ended. */
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
        if (controller.desiredSize <= 0) source.pause();
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
 * A `WritableStream` that writes to a stream of Node, and waits while that is full. `onEnd` is called once all is written, or
 * nothing more can be written. Its `writeNow(chunks)` is for a process that exits: it writes the chunks that were not written
 * yet.
 */
export function toWritableStream(target, onEnd = () => target.end()) {
  let last;
  /** Ends the write that waits: with an error, if it is not done. */
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
      // A write that waits is not to keep it from being given up.
      controller.signal.addEventListener("abort", () => endWrite(controller.signal.reason));
    },
    write(chunk) {
      if (!isCorked) {
        // What is written in one turn of the event loop leaves by one system call.
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
