// `import "portway/early"`, as the first import of a worker or an iframe, buffers the messages that arrive before the
// wasm is loaded and handlers are set. `selfTransport()` and `windowTransport()` take these messages over. The buffer
// holds 10 000 messages, and is dropped 10 s after the wasm has started. The module has no exports.

export {};
