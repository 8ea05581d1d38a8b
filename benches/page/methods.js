// What the far end serves. `transferred` makes a result that is moved instead of copied, in the words of the library.

export function makeMethods(transferred = (value) => value) {
  let ticks = 0;
  let pool = [];
  let held = [];
  return {
    echo: ({ n }) => n,
    tick() {
      ticks++;
    },
    /** How many ticks there have been since it was asked last. */
    flush() {
      const count = ticks;
      ticks = 0;
      return count;
    },
    weigh: ({ buffer }) => buffer.byteLength,
    mirror: ({ value }) => value,
    /** Has buffers ready, so that making them is not measured. */
    prepare({ count, bytes }) {
      pool = Array.from({ length: count }, () => new ArrayBuffer(bytes));
      return count;
    },
    take(_, context) {
      const buffer = pool.pop();
      return transferred(buffer, [buffer], context);
    },
    *chunks({ count, bytes }, context) {
      for (let n = 0; n < count; n++) {
        const chunk = new ArrayBuffer(bytes);
        yield transferred(chunk, [chunk], context);
      }
    },
    /** Answers when `release` is called. */
    hold: () => new Promise((resolve) => held.push(resolve)),
    release() {
      const waiting = held;
      held = [];
      for (const resolve of waiting) resolve(0);
      return waiting.length;
    },
  };
}
