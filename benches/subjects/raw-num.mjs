// The floor of the boundary: a bare number goes there and comes back, or a payload without anything around it. Messages keep
// their order, so the first answer is that of the first call.

import { bareChannelOf } from "./channel.mjs";

const TICK = -1;
const FLUSH = -2;
const TAKE = -3;
const PREPARE = -4;

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
  listen((data) => {
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
  };
}

export function serve(side, makeMethods) {
  const { post, listen } = bareChannelOf(side);
  const methods = makeMethods();
  listen((data) => {
    if (typeof data !== "number") return post(data instanceof ArrayBuffer ? methods.weigh({ buffer: data }) : data);
    if (data >= 0) return post(data);
    if (data === TICK) return methods.tick();
    if (data === FLUSH) return post(methods.flush());
    if (data <= PREPARE) return post(methods.prepare({ count: PREPARE - data, bytes: 2 ** 20 }));
    const buffer = methods.take();
    post(buffer, [buffer]);
  });
}
