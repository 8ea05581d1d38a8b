// Traps of a program in Rust. A program ends by a panic, which its hook reports, or by a trap: a stack overflow,
// exhausted memory, `unreachable`. A trap leaves the program in an inconsistent state. So it is never called again, and
// all users of its wasm are notified. The npm package does not contain this file.

import { setInstance, poison } from "./wasm-instance.js";
import { finishEarly } from "./early-buffer.js";

/**
 * The run of the program: from the first transport of Rust to the trap. A transport after a trap begins another run.
 */
let run = { isOver: true };

/**
 * Returns whether the program has trapped, or has not begun. Rust calls this before each transport: a test goes on
 * after a trap.
 */
export function isTrapped() {
  return run.isOver;
}

function end(error) {
  if (run.isOver) return;
  run.isOver = true;
  poison(error);
  // Callers whose messages were buffered get an answer, too.
  finishEarly(null);
}

/** Ends the run after a panic. The panic hook calls this. The peer does not get the text. */
export function onPanic(text) {
  console.error("portway:", text);
  end(new Error(text));
}

/** Returns whether an error is a trap, or the error that engines throw for a stack overflow in its place. */
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
      // The error also reaches the `error` event, as it would have uncaught.
      reportError(error);
      return -1;
    }
  };
}

/**
 * Begins a run of the program. `stackPointer` returns the stack pointer, which has one value whenever no code of Rust
 * runs. A trap does not restore it. This shows traps that do not pass through `untilTrap`, such as those of futures.
 */
export function beginRun(wasm, stackPointer) {
  setInstance(wasm);
  finishEarly();
  const current = (run = { isOver: false });
  // The current code, which may be Rust, returns first.
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
