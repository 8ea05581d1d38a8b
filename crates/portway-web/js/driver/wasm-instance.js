// The running instance of the wasm, and the connections in it. An instance traps, for example, if its memory or its
// stack is exhausted. After a trap, the state of the instance is inconsistent. So the instance is never called again,
// and all its users are notified.

import { FREE, OPEN } from "./wasm-abi.js";
import { callError } from "./errors.js";

/** The instance for new connections. */
let current;

/** Uses the wasm with these exports for new connections. Called after the wasm has started, and after each restart. */
export function setInstance(wasm) {
  current = { run: wasm.__portway, users: new Set(), trap: undefined };
}

/** Returns whether there is an instance for new connections. */
export function hasInstance() {
  return current !== undefined && current.trap === undefined;
}

/** Ends the use of the current instance, which has trapped with this error. */
export function markTrapped(error) {
  current.trap ??= error;
  notifyTrapped(current);
}

/** Returns the instance for new connections. Throws if no instance runs. */
function currentInstance() {
  if (current === undefined) throw new Error("portway is not loaded: `await init()` first");
  if (current.trap !== undefined) throw trapError(current);
  return current;
}

/**
 * Calls the wasm of an instance. Returns 0 if the instance has trapped. Arguments default to 0, so that no `undefined`
 * is converted to a number.
 */
function call(instance, connection, command, a = 0, b = 0, c = 0, d = 0) {
  if (instance.trap === undefined) {
    try {
      return instance.run(connection, command, a, b, c, d);
    } catch (error) {
      // The stack may be full, and a further function call may fail. So the trap is recorded before any function call.
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

/** In a microtask, notifies the users of an instance that the instance has trapped. */
function notifyTrapped(instance) {
  if (instance.users.size === 0) return;
  const users = instance.users;
  Promise.resolve().then(() => users.forEach((user) => user.deref()?.onTrap()));
  instance.users = new Set();
}

// Frees the wasm connection of a link that was garbage-collected, together with its transport, without a call of
// `destroy()`.
const finalizers = /* @__PURE__ */ new FinalizationRegistry(({ instance, connection, user }) =>
  free(instance, connection, user),
);

function free(instance, connection, user) {
  call(instance, connection, FREE);
  instance.users.delete(user);
}

/** An invalid handle. A command on it does nothing and returns 0. */
const NO_CONNECTION = -1;

/** The state of a link in wasm. */
export class WasmConnection {
  #instance = currentInstance();
  #handle;
  #user;
  /** Called if the wasm traps. */
  onTrap;

  /** The id of the first call is `lastId + 1`. */
  constructor(onTrap, lastId) {
    this.onTrap = onTrap;
    this.#user = new WeakRef(this);
    this.#handle = call(this.#instance, 0, OPEN, lastId);
    this.#instance.users.add(this.#user);
    finalizers.register(this, { instance: this.#instance, connection: this.#handle, user: this.#user }, this);
  }

  /** A `CallError` if the wasm has trapped. */
  get trapError() {
    return this.#instance.trap && trapError(this.#instance);
  }

  /** Runs a command. The result is an output, unless `abi.rs` describes another result. */
  run(command, a, b, c, d) {
    return call(this.#instance, this.#handle, command, a, b, c, d);
  }

  /** Frees the state. Later commands do nothing. */
  free() {
    finalizers.unregister(this);
    free(this.#instance, this.#handle, this.#user);
    // A later connection may reuse this handle, and code that still has this object must not send commands to that
    // connection.
    this.#handle = NO_CONNECTION;
  }
}

/** Runs a command without a connection. */
export function runGlobalCommand(command, a, b, c) {
  call(currentInstance(), 0, command, a, b, c);
}
