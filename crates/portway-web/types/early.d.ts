// `import "portway/early"` must be the first import of a worker or an iframe. The module buffers the messages that
// arrive before the wasm is loaded and handlers are set. `selfTransport()` and `windowTransport()` take over these
// messages. The buffer has room for 10 000 messages, and is dropped 10 s after the wasm has started. The module has no
// exports.

export {};
