// The baseline for the transport: messages are numbers, or payloads without an envelope. `postMessage` keeps the order
// of messages, so the next answer belongs to the oldest pending call.

import { bareChannelOf } from "./channel.mjs";

// Negative numbers are the messages below. Other numbers are calls of `echo`, and results of calls.
const TICK = -1;
const FLUSH = -2;
const TAKE = -3;
/** The message `CREDIT - count` lets the server send `count` more chunks. `count` is from 1 to 995. */
const CREDIT = -4;
/** The message `PREPARE - count` requests `count` buffers. So all numbers up to -1000 have this meaning. */
const PREPARE = -1_000;

const messages = {
  echo: ({ n }) => n,
  flush: () => FLUSH,
  weigh: ({ buffer }) => buffer,
  mirror: ({ value }) => value,
  take: () => TAKE,
  prepare: ({ count }) => PREPARE - count,
};

export function call(side) {
  const { post, listen } = bareChannelOf(side);
  let pending = [];
  let oldest = 0;
  let drain;
  listen((data) => {
    if (drain !== undefined) return drain(data);
    const resolve = pending[oldest++];
    if (oldest === pending.length) {
      pending = [];
      oldest = 0;
    }
    resolve(data);
  });
  return {
    call: (method, params, transfer) =>
      new Promise((resolve) => {
        pending.push(resolve);
        post(messages[method](params), transfer);
      }),
    notify: () => post(TICK),
    /** Reads chunks. Sends credit as often as a stream of Portway does. */
    drain: ({ count, bytes, window }) =>
      new Promise((resolve) => {
        let [remaining, sum, received] = [count, 0, 0];
        drain = ({ byteLength }) => {
          sum += byteLength;
          if (++received * 2 >= window) {
            post(CREDIT - received);
            received = 0;
          }
          if (--remaining > 0) return;
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
  let [remaining, size, credit] = [0, 0, 0];
  const send = () => {
    for (; remaining > 0 && credit > 0; remaining--, credit--) {
      const chunk = new ArrayBuffer(size);
      post(chunk, [chunk]);
    }
  };
  listen((data) => {
    if (Array.isArray(data) && typeof data[0] === "number") {
      [remaining, size, credit] = data;
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
