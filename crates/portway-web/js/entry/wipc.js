// `portway/wipc`: frames over byte streams between a host and a guest. It needs neither wasm nor `init()`.

export { WipcChannel, WipcClosedError } from "../wipc/channel.js";
export { WipcDecoder } from "../wipc/decoder.js";
export { WipcType, encodeWipc, parseWipcJSON } from "../wipc/frame.js";
export { WipcDecoderStream, WipcEncoderStream } from "../wipc/transform-streams.js";
