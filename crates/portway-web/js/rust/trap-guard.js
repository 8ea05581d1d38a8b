// Detects that a program in Rust has trapped. A program ends by a panic, which its panic hook reports, or by a trap,
// for example after a stack overflow. A trap leaves the program in an inconsistent state. So the program is never
// called again, and all users of its wasm are notified. The npm package does not contain this file.

import { setInstance, markTrapped } from "../driver/wasm-instance.js";
import { finishEarly } from "../transport/early-buffer.js";

/**
 * The run of the program: from the first transport of Rust to the trap. A transport after a trap begins another run.
 */
let run = { isOver: true };

/**
 * Returns whether the program has trapped, or has not begun. Rust calls this function before it creates a transport. If
 * the result is true, Rust begins another run. So tests can continue after a trap.
 */
export function isTrapped() {
  return run.isOver;
}

function end(error) {
  if (run.isOver) return;
  run.isOver = true;
  markTrapped(error);
  // The callers whose messages `early.js` has buffered get an error response.
  finishEarly(null);
}

/** Ends the run after a panic. The panic hook calls this function. The text is logged, and is not sent to the peer. */
export function onPanic(text) {
  console.error("portway:", text);
  end(new Error(text));
}

/** Returns whether an error is a trap, or the error that engines throw for a stack overflow. */
function isTrap(error) {
  return error instanceof WebAssembly.RuntimeError || /call stack|recursion/.test(error?.message);
}

/** Returns a function that calls `callback` until the program traps, and returns -1 from then on. */
export function untilTrap(callback) {
  const current = run;
  return (a, b, c, d) => {
    if (current.isOver) return -1;
    try {
      return callback(a, b, c, d);
    } catch (error) {
      if (!isTrap(error)) throw error;
      end(error);
      // If an error is not caught, browsers dispatch the event `error`. `reportError` does the same for this error.
      reportError(error);
      return -1;
    }
  };
}

/**
 * Begins a run of the program. `stackPointer` returns the stack pointer of the wasm. While no code of Rust runs, this
 * value is always the same, unless a trap has left another value. A changed value shows a trap outside of `untilTrap`,
 * for example in a future.
 */
export function beginRun(wasm, stackPointer) {
  setInstance(wasm);
  finishEarly();
  const current = (run = { isOver: false });
  // The value is read in a microtask, because the current code, which may be Rust, must return first.
  const atRest = Promise.resolve().then(stackPointer);
  const stackPointerNow = () => {
    try {
      return stackPointer();
    } catch {
      // The trap has left too little of the stack for this call.
    }
  };
  /** @param {Partial<ErrorEvent & PromiseRejectionEvent>} event */
  const check = async ({ error, reason }) => {
    const thrown = error ?? reason;
    if (!isTrap(thrown)) return;
    const expected = await atRest;
    if (!current.isOver && expected !== stackPointerNow()) end(thrown);
  };
  globalThis.addEventListener?.("error", check);
  globalThis.addEventListener?.("unhandledrejection", check);
}
