// The worker's script of `portway/wipc/wasi`, to be copied or named by its address. It exports nothing.

export {};
