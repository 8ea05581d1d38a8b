// The death of a program in Rust. It ends by a panic, of which its hook tells, or by a trap: a full stack, exhausted memory,
// `unreachable`. What it was doing is half done then, so it is never called again, and all that use its wasm are told.
// The npm package has none of this file.

import { setInstance, poison } from "./wasm-instance.js";
import { finishEarly } from "./early-buffer.js";

/** What has one end: from when Rust made its first transport, or its first after the last end. */
let life = { isOver: true };

/** Called by Rust before each transport. Rust that goes on after its end is a test, say, after one that has failed. */
export function hasEnded() {
  return life.isOver;
}

function end(error) {
  if (life.isOver) return;
  life.isOver = true;
  poison(error);
  // Whom it was still to hear gets an answer, too.
  finishEarly(null);
}

/** Called by the panic hook. The text stays here: it is nobody's business on the other side. */
export function panicked(text) {
  console.error("portway:", text);
  end(new Error(text));
}

/** A trap, and what engines throw in the place of one where the stack is full. */
function isTrap(error) {
  return error instanceof WebAssembly.RuntimeError || /call stack|recursion/.test(error?.message);
}

/** The same function of Rust, as long as Rust is alive; -1 from then on. */
export function whileAlive(tell) {
  const mine = life;
  return (a, b, c, d) => {
    if (mine.isOver) return -1;
    try {
      return tell(a, b, c, d);
    } catch (error) {
      if (!isTrap(error)) throw error;
      end(error);
      // It goes where it would have gone, had nobody caught it.
      reportError(error);
      return -1;
    }
  };
}

/**
 * Rust lives from here on. `place` gives where its stack is: at rest that is always the same place, but for traps that left
 * it where it was. So those that do not pass through here are noticed, too: of futures that are polled by themselves, say.
 */
export function begin(wasm, place) {
  setInstance(wasm);
  finishEarly();
  const mine = (life = { isOver: false });
  // Not before what runs now, which may be Rust, has left the stack.
  const atRest = Promise.resolve().then(place);
  const placeNow = () => {
    try {
      return place();
    } catch {
      // The stack was left where not even this finds room.
    }
  };
  const look = async ({ error, reason }) => {
    const thrown = error ?? reason;
    if (!isTrap(thrown)) return;
    const there = await atRest;
    if (!mine.isOver && there !== placeNow()) end(thrown);
  };
  globalThis.addEventListener?.("error", look);
  globalThis.addEventListener?.("unhandledrejection", look);
}
