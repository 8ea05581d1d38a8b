// Counts the resources that the library uses in this context: listeners, timers, ports and wasm memory. This file must
// be loaded before the library.
//
// The file replaces functions of the platform by functions that count. It exports the original functions for the soak
// itself, so that only the resources of the library are counted.

const { addEventListener, removeEventListener } = EventTarget.prototype;
const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;

export const pause = (ms) => new Promise((resolve) => setTimeout.call(globalThis, resolve, ms));
export const startTimer = (run, ms) => setTimeout.call(globalThis, run, ms);
export const stopTimer = (timer) => clearTimeout.call(globalThis, timer);
export const listen = (target, type, listener, options) => addEventListener.call(target, type, listener, options);
export const unlisten = (target, type, listener) => removeEventListener.call(target, type, listener);

// ---------------------------------------------------------------- listeners

let listeners = 0;
const listenersByTarget = new WeakMap();

/**
 * Returns the listeners of a target for one type and phase, as a map. A key is a listener that was passed to
 * `addEventListener`. The value is the function that was added in place of this listener.
 */
function listenersOf(target, type, options) {
  let byType = listenersByTarget.get(target);
  if (byType === undefined) listenersByTarget.set(target, (byType = new Map()));
  const typeAndPhase = `${type} ${typeof options === "boolean" ? options : Boolean(options?.capture)}`;
  let listenersOfType = byType.get(typeAndPhase);
  if (listenersOfType === undefined) byType.set(typeAndPhase, (listenersOfType = new Map()));
  return listenersOfType;
}

EventTarget.prototype.addEventListener = function (type, listener, options) {
  const target = this ?? globalThis;
  if (listener === null || listener === undefined) return;
  // Node itself adds listeners of these two types to each port. These listeners are not counted.
  if (/^(newListener|removeListener)$/.test(type)) return addEventListener.call(target, type, listener, options);
  const targetListeners = listenersOf(target, type, options);
  if (targetListeners.has(listener) || options?.signal?.aborted) return;
  const onRemoved = () => {
    if (targetListeners.delete(listener)) listeners--;
  };
  let standIn = listener;
  // A signal is aborted once, and then releases its listeners.
  if (options?.once || (target instanceof AbortSignal && type === "abort")) {
    standIn = function (event) {
      onRemoved();
      return typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event);
    };
  }
  targetListeners.set(listener, standIn);
  listeners++;
  if (options?.signal) addEventListener.call(options.signal, "abort", onRemoved, { once: true });
  return addEventListener.call(target, type, standIn, options);
};

EventTarget.prototype.removeEventListener = function (type, listener, options) {
  const target = this ?? globalThis;
  const targetListeners = listenersOf(target, type, options);
  const standIn = targetListeners.get(listener);
  if (targetListeners.delete(listener)) listeners--;
  return removeEventListener.call(target, type, standIn ?? listener, options);
};

// ------------------------------------------------------------------- timers

const timers = new Set();

globalThis.setTimeout = (run, ms, ...runArgs) => {
  const timer = setTimeout.call(
    globalThis,
    (...args) => {
      timers.delete(timer);
      run(...args);
    },
    ms,
    ...runArgs,
  );
  timers.add(timer);
  return timer;
};
globalThis.setInterval = (...args) => {
  const timer = setInterval.apply(globalThis, args);
  timers.add(timer);
  return timer;
};
globalThis.clearTimeout = (timer) => {
  timers.delete(timer);
  clearTimeout.call(globalThis, timer);
};
globalThis.clearInterval = (timer) => {
  timers.delete(timer);
  clearInterval.call(globalThis, timer);
};

// -------------------------------------------------------------------- ports

// A port is in use from its start until it is closed. A transferred port is counted in the context that starts it.
let ports = 0;
const started = new WeakSet();
const { start, close } = MessagePort.prototype;

MessagePort.prototype.start = function () {
  if (!started.has(this)) {
    started.add(this);
    ports++;
  }
  return start.call(this);
};
MessagePort.prototype.close = function () {
  if (started.delete(this)) ports--;
  // A closed port receives nothing more, and releases its listeners.
  for (const targetListeners of listenersByTarget.get(this)?.values() ?? []) {
    listeners -= targetListeners.size;
    targetListeners.clear();
  }
  return close.call(this);
};

// --------------------------------------------------------------------- wasm

const memories = [];

function recordMemories(instance) {
  for (const value of Object.values(instance.exports)) if (value instanceof WebAssembly.Memory) memories.push(value);
  return instance;
}

WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct: (target, args) => recordMemories(Reflect.construct(target, args)),
});
for (const name of ["instantiate", "instantiateStreaming"]) {
  const original = WebAssembly[name];
  WebAssembly[name] = async (...args) => {
    const result = await original.apply(WebAssembly, args);
    recordMemories(result.instance ?? result);
    return result;
  };
}

// ------------------------------------------------------------------- figures

/** Returns the resources in use in this context. If the engine allows it, collects garbage first. */
export async function figures() {
  // Objects that a finalizer releases become garbage only for the next collection, so one collection is not enough.
  for (let round = 0; round < 3 && globalThis.gc; round++) {
    globalThis.gc();
    await pause(20);
  }
  const wasm = memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
  // In browsers, only the page can measure the heaps.
  const heap = globalThis.process?.memoryUsage?.().heapUsed;
  return { wasm, listeners, timers: timers.size, ports, heap };
}
