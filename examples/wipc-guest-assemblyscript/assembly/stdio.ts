// The two functions of WASI that a guest needs.

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_read")
declare function fd_read(fd: u32, buffers: usize, count: usize, done: usize): u32;
// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: u32, buffers: usize, count: usize, done: usize): u32;

export const STDOUT: u32 = 1;
export const STDERR: u32 = 2;
const STDIN: u32 = 0;

/** The arguments of a WASI call: the address and length of one buffer, and then the number of transferred bytes. */
const callArguments = memory.data(3 * sizeof<usize>());

/** Waits for input. Returns the number of bytes that were read, or 0 at the end of the input. */
export function read(address: usize, length: usize): usize {
  store<usize>(callArguments, address);
  store<usize>(callArguments, length, sizeof<usize>());
  const errorCode = fd_read(STDIN, callArguments, 1, callArguments + 2 * sizeof<usize>());
  if (errorCode) throw new Error("stdin cannot be read: WASI error " + errorCode.toString());
  return load<usize>(callArguments, 2 * sizeof<usize>());
}

/** Writes all bytes. One call of `fd_write` may write only a part of the bytes to a pipe. */
export function write(fd: u32, address: usize, length: usize): void {
  while (length > 0) {
    store<usize>(callArguments, address);
    store<usize>(callArguments, length, sizeof<usize>());
    const errorCode = fd_write(fd, callArguments, 1, callArguments + 2 * sizeof<usize>());
    if (errorCode) throw new Error("output cannot be written: WASI error " + errorCode.toString());
    const written = load<usize>(callArguments, 2 * sizeof<usize>());
    address += written;
    length -= written;
  }
}

export function writeLine(fd: u32, text: string): void {
  const bytes = String.UTF8.encode(text + "\n");
  write(fd, changetype<usize>(bytes), bytes.byteLength);
}
