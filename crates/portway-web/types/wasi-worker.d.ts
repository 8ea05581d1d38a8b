// The worker script of `portway/wipc/wasi`. Applications copy it, or pass its address. It has no exports.

export {};
