// The codec as transform streams, for `pipeThrough`.

import { WipcDecoder } from "./decoder.js";
import { encodeWipc } from "./frame.js";

class UnsupportedStream {
  constructor() {
    throw new TypeError("this realm has no TransformStream");
  }
}

/**
 * The base of the classes below. In a realm without `TransformStream`, their constructors throw, but this module loads.
 */
const Base = /* @__PURE__ */ (() =>
  /** @type {typeof TransformStream} */ (globalThis.TransformStream ?? UnsupportedStream))();

export class WipcDecoderStream extends Base {
  /** @param {import("../../types/wipc.js").WipcDecoderStreamOptions} [options] */
  constructor(options) {
    let decoder;
    super({
      start(controller) {
        decoder = new WipcDecoder(
          {
            frame: (type, payload) => controller.enqueue({ type, payload }),
            passthrough: (bytes) => options?.passthrough?.(bytes),
            truncated: (size) => options?.truncated?.(size),
          },
          options,
        );
      },
      transform: (chunk) => decoder.push(chunk),
      flush: () => decoder.finish(),
    });
  }
}

export class WipcEncoderStream extends Base {
  constructor() {
    super({ transform: ({ type, payload }, controller) => controller.enqueue(encodeWipc(type, payload)) });
  }
}
