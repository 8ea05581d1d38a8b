// `portway/early`: buffers the messages that arrive before the wasm has loaded.

import "../transport/early.js";
