// The worker in which a guest runs. The worker receives one message with the guest and runs the guest to its end. The
// worker posts messages of these kinds: `started`, `stdout`, `stderr`, `room` (stdin has room again), `closed` (the
// guest has closed stdin), `exit`, `failed`.

import { Fd, WASI, wasi } from "@bjorn3/browser_wasi_shim";
import { GuestRing } from "./shared-ring.js";

addEventListener("message", ({ data }) => run(data), { once: true });

/**
 * The instance of a guest. The page has checked its exports.
 * @typedef {WebAssembly.Instance & { exports: { memory: WebAssembly.Memory, _start: () => unknown } }} Command
 */

function run({ module, memory, args, env }) {
  try {
    const ring = new GuestRing(memory, () => postMessage({ kind: "room" }));
    const stdin = new Stdin(ring);
    const shim = new WASI(args, env, [stdin, new Output("stdout", ring), new Output("stderr", ring)]);
    const imports = { ...shim.wasiImport, ...shimPatches(shim, stdin) };
    const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports });
    postMessage({ kind: "started" });
    // The exit code of WASI is unsigned, but JavaScript receives a signed number.
    postMessage({ kind: "exit", code: shim.start(/** @type {Command} */ (instance)) >>> 0 });
  } catch (error) {
    const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
    postMessage({ kind: "failed", name, message, stack });
  }
}

/** Returns replacements for functions of the shim that do not suit a guest. */
function shimPatches(shim, stdin) {
  const { fd_read, fd_write } = shim.wasiImport;
  const memory = () => shim.inst.exports.memory.buffer;
  return {
    // A read may have several buffers, which the shim fills one after another, as from a file. Once a read has some
    // bytes, it must not wait for more.
    fd_read(fd, ...rest) {
      stdin.mayBlock = true;
      return fd_read(fd, ...rest);
    },
    // The shim writes each buffer separately. Here the buffers of one write are posted as one message.
    fd_write(fd, buffers, count, written) {
      const output = shim.fds[fd];
      if (!(output instanceof Output)) return fd_write(fd, buffers, count, written);
      const view = new DataView(memory());
      const pieces = wasi.Ciovec.read_bytes_array(view, buffers, count);
      const bytes = new Uint8Array(pieces.reduce((sum, { buf_len }) => sum + buf_len, 0));
      let at = 0;
      for (const { buf, buf_len } of pieces) {
        bytes.set(new Uint8Array(memory(), buf, buf_len), at);
        at += buf_len;
      }
      view.setUint32(written, bytes.length, true);
      output.write(bytes);
      return wasi.ERRNO_SUCCESS;
    },
    // The shim writes the arguments as UTF-8, but counts UTF-16 code units. This function counts bytes.
    args_sizes_get(count, size) {
      const view = new DataView(memory());
      const sizes = shim.args.map((text) => new TextEncoder().encode(text).length + 1);
      view.setUint32(count, sizes.length, true);
      view.setUint32(
        size,
        sizes.reduce((sum, size) => sum + size, 0),
        true,
      );
      return wasi.ERRNO_SUCCESS;
    },
  };
}

/** A pipe: it is not a terminal, and cannot seek. */
class Pipe extends Fd {
  #rights;

  constructor(rights) {
    super();
    this.#rights = rights;
  }

  fd_fdstat_get() {
    const fdstat = new wasi.Fdstat(wasi.FILETYPE_UNKNOWN, 0);
    fdstat.fs_rights_base = BigInt(this.#rights);
    return { ret: wasi.ERRNO_SUCCESS, fdstat };
  }

  fd_filestat_get() {
    return { ret: wasi.ERRNO_SUCCESS, filestat: new wasi.Filestat(0n, wasi.FILETYPE_UNKNOWN, 0n) };
  }

  fd_seek() {
    return { ret: wasi.ERRNO_SPIPE, offset: 0n };
  }
}

class Stdin extends Pipe {
  #ring;
  /** Whether a read may wait for bytes. False once the current read has filled its first buffer. */
  mayBlock = true;

  constructor(ring) {
    super(wasi.RIGHTS_FD_READ);
    this.#ring = ring;
  }

  fd_read(size) {
    if (size === 0) return { ret: wasi.ERRNO_SUCCESS, data: new Uint8Array() };
    const data = this.mayBlock ? this.#ring.read(size) : this.#ring.readNow(size);
    this.mayBlock = false;
    return { ret: wasi.ERRNO_SUCCESS, data };
  }

  fd_close() {
    postMessage({ kind: "closed" });
    return wasi.ERRNO_SUCCESS;
  }
}

class Output extends Pipe {
  #kind;
  #ring;

  constructor(kind, ring) {
    super(wasi.RIGHTS_FD_WRITE);
    this.#kind = kind;
    this.#ring = ring;
  }

  write(bytes) {
    if (bytes.length === 0) return;
    this.#ring.reserve(bytes);
    postMessage({ kind: this.#kind, bytes }, [bytes.buffer]);
  }
}
