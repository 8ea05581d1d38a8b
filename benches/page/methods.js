// The methods of the server. `transferred(value, buffers, context)` returns a result whose buffers the library
// transfers. `context` is the second argument that the library passes to a handler.

export function makeMethods(transferred = (value) => value) {
  let ticks = 0;
  let pool = [];
  let pending = [];
  return {
    echo: ({ n }) => n,
    tick() {
      ticks++;
    },
    /** Returns the number of notifications `tick` since the last call of `flush`. */
    flush() {
      const count = ticks;
      ticks = 0;
      return count;
    },
    weigh: ({ buffer }) => buffer.byteLength,
    mirror: ({ value }) => value,
    /** Creates the buffers that `take` returns, so that the measured time of `take` does not include their creation. */
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
    /** Returns a result after the next call of `release`. */
    hold: () => new Promise((resolve) => pending.push(resolve)),
    release() {
      const resolvers = pending;
      pending = [];
      for (const resolve of resolvers) resolve(0);
      return resolvers.length;
    },
  };
}
