// `portway/tap`: records the messages of a transport, or of the sessions of `connect`. It works with the transports of
// every entry of `portway`, and needs neither wasm nor `init()`.

export { readTaps } from "../tap/reader.js";
export { TapRecorder } from "../tap/recorder.js";
export { sessionTap } from "../tap/session.js";
export { tap } from "../tap/transports.js";
