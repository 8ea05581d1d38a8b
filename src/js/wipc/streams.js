// The codec as streams, for `pipeThrough`.

import { WipcDecoder } from "./decoder.js";
import { encodeWipc } from "./frame.js";

export class WipcDecoderStream extends TransformStream {
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

export class WipcEncoderStream extends TransformStream {
  constructor() {
    super({ transform: ({ type, payload }, controller) => controller.enqueue(encodeWipc(type, payload)) });
  }
}
