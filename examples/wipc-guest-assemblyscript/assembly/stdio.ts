// Standard input, output and error, by two functions of WASI. The functions have the same parameters: `buffers` is the
// address of `count` pairs, each with the address and the length of a buffer. `transferred` is the address at which
// WASI stores the number of transferred bytes.

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_read")
declare function fd_read(fd: u32, buffers: usize, count: usize, transferred: usize): u32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: u32, buffers: usize, count: usize, transferred: usize): u32;

export const STDOUT: u32 = 1;
export const STDERR: u32 = 2;
const STDIN: u32 = 0;

/**
 * The memory of a WASI call: the address and the length of one buffer, and then the place where WASI stores the number
 * of transferred bytes.
 */
const callMemory = memory.data(3 * sizeof<usize>());

/** Waits for input. Returns the number of bytes that were read, or 0 at the end of the input. */
export function read(address: usize, length: usize): usize {
  store<usize>(callMemory, address);
  store<usize>(callMemory, length, sizeof<usize>());
  const errorCode = fd_read(STDIN, callMemory, 1, callMemory + 2 * sizeof<usize>());
  if (errorCode) throw new Error("stdin cannot be read: WASI error " + errorCode.toString());
  return load<usize>(callMemory, 2 * sizeof<usize>());
}

/** Writes all bytes. One call of `fd_write` may write only a part of the bytes to a pipe. */
export function write(fd: u32, address: usize, length: usize): void {
  while (length > 0) {
    store<usize>(callMemory, address);
    store<usize>(callMemory, length, sizeof<usize>());
    const errorCode = fd_write(fd, callMemory, 1, callMemory + 2 * sizeof<usize>());
    if (errorCode) throw new Error("output cannot be written: WASI error " + errorCode.toString());
    const written = load<usize>(callMemory, 2 * sizeof<usize>());
    address += written;
    length -= written;
  }
}

export function writeLine(fd: u32, text: string): void {
  const bytes = String.UTF8.encode(text + "\n");
  write(fd, changetype<usize>(bytes), bytes.byteLength);
}
