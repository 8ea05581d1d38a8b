// The floor of the boundary: a bare number goes there and comes back, or a payload without anything around it. Messages keep
// their order, so the first answer is that of the first call.

import { bareChannelOf } from "./channel.mjs";

const TICK = -1;
const FLUSH = -2;
const TAKE = -3;
const CREDIT = -4;
/** And below: how many buffers. */
const PREPARE = -1_000;

const words = {
  echo: ({ n }) => n,
  flush: () => FLUSH,
  weigh: ({ buffer }) => buffer,
  mirror: ({ value }) => value,
  take: () => TAKE,
  prepare: ({ count }) => PREPARE - count,
};

export function call(side) {
  const { post, listen } = bareChannelOf(side);
  let waiting = [];
  let first = 0;
  let drain;
  listen((data) => {
    if (drain !== undefined) return drain(data);
    const resolve = waiting[first++];
    if (first === waiting.length) {
      waiting = [];
      first = 0;
    }
    resolve(data);
  });
  return {
    call: (method, params, transfer) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        post(words[method](params), transfer);
      }),
    notify: () => post(TICK),
    /** Chunks, with as much credit at a time as the streams of Portway give. */
    drain: ({ count, bytes, window }) =>
      new Promise((resolve) => {
        let [left, sum, taken] = [count, 0, 0];
        drain = ({ byteLength }) => {
          sum += byteLength;
          if (++taken * 2 >= window) {
            post(CREDIT - taken);
            taken = 0;
          }
          if (--left > 0) return;
          drain = undefined;
          resolve(sum);
        };
        post([count, bytes, window]);
      }),
  };
}

export function serve(side, makeMethods) {
  const { post, listen } = bareChannelOf(side);
  const methods = makeMethods();
  let [left, size, credit] = [0, 0, 0];
  const send = () => {
    for (; left > 0 && credit > 0; left--, credit--) {
      const chunk = new ArrayBuffer(size);
      post(chunk, [chunk]);
    }
  };
  listen((data) => {
    if (Array.isArray(data) && typeof data[0] === "number") {
      [left, size, credit] = data;
      return send();
    }
    if (typeof data !== "number") return post(data instanceof ArrayBuffer ? methods.weigh({ buffer: data }) : data);
    if (data >= 0) return post(data);
    if (data === TICK) return methods.tick();
    if (data === FLUSH) return post(methods.flush());
    if (data <= PREPARE) return post(methods.prepare({ count: PREPARE - data, bytes: 2 ** 20 }));
    if (data < CREDIT) {
      credit += CREDIT - data;
      return send();
    }
    const buffer = methods.take();
    post(buffer, [buffer]);
  });
}
