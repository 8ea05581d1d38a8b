// The wasm that runs, and its end of a link. A module of wasm can die (of exhausted memory, or of an exhausted stack): what
// it was doing is half done then, and nothing in it can be trusted. So it is never called again, and all that use it are
// told.

import { FREE, OPEN } from "./wasm-abi.js";
import { callError } from "./errors.js";

/** The instance that new links are made in. */
let current;

/** Called with the exports of the wasm once it runs, and again if another instance takes its place. */
export function setInstance(wasm) {
  current = { run: wasm.__portway, users: new Set(), trap: undefined };
}

/** Whether there is no wasm that new links could be made in. */
export function needsWasm() {
  return current === undefined || current.trap !== undefined;
}

/** Whoever runs the wasm has learned that it has died. */
export function poison(error) {
  current.trap ??= error;
  notifyTrapped(current);
}

/** The instance to use. */
function running() {
  if (current === undefined) throw new Error("portway is not loaded yet: `await init()` first");
  if (current.trap !== undefined) throw trapError(current);
  return current;
}

/** Calls the wasm of an instance; 0 if it has died. What is left out is a number, too: wasm would have to convert `undefined`. */
function call(instance, connection, command, a = 0, b = 0, c = 0, d = 0) {
  if (instance.trap === undefined) {
    try {
      return instance.run(connection, command, a, b, c, d);
    } catch (error) {
      // There may be no stack left to do more with.
      instance.trap = error;
    }
  }
  notifyTrapped(instance);
  return 0;
}

function trapError({ trap }) {
  const text = `portway's wasm has died (${trap.message}); \`await init()\` starts another, for new clients and servers`;
  return callError("wasm-died", text, trap);
}

/** Tells the users of an instance that it has died, once this task is done. */
function notifyTrapped(instance) {
  if (instance.users.size === 0) return;
  const users = instance.users;
  Promise.resolve().then(() => users.forEach((user) => user.deref()?.onTrap()));
  instance.users = new Set();
}

// A link may be dropped without `destroy()`, together with what it listens to.
const finalizers = /* @__PURE__ */ new FinalizationRegistry(({ instance, connection, user }) =>
  free(instance, connection, user),
);

function free(instance, connection, user) {
  call(instance, connection, FREE);
  instance.users.delete(user);
}

/** An invalid link number. A command on it does nothing and returns 0. */
const NO_CONNECTION = -1;

/** What a link has in wasm. */
export class WasmConnection {
  #instance = running();
  #handle;
  #user;
  /** Called if the wasm dies. */
  onTrap;

  /** The first call has the id after `lastId`. */
  constructor(onTrap, lastId) {
    this.onTrap = onTrap;
    this.#user = new WeakRef(this);
    this.#handle = call(this.#instance, 0, OPEN, lastId);
    this.#instance.users.add(this.#user);
    finalizers.register(this, { instance: this.#instance, connection: this.#handle, user: this.#user }, this);
  }

  /** Why nothing is run any more, if the wasm has died: a `CallError`. */
  get trapError() {
    return this.#instance.trap && trapError(this.#instance);
  }

  /** Runs a command; the answer is a word, unless `commands.rs` says otherwise. */
  run(command, a, b, c, d) {
    return call(this.#instance, this.#handle, command, a, b, c, d);
  }

  /** Nothing is run any more. */
  free() {
    finalizers.unregister(this);
    free(this.#instance, this.#handle, this.#user);
    // A later link may reuse this number. Running code must not send commands to it.
    this.#handle = NO_CONNECTION;
  }
}

/** Runs a command that belongs to no link. */
export function runGlobalCommand(command, a, b, c) {
  call(running(), 0, command, a, b, c);
}
