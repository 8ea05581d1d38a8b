// Transfer lists. Engines check some kinds of objects only while they transfer the list, and may have detached other
// objects by then. This file checks and orders the objects first, so that a failed transfer detaches none of them.

import { isInstance } from "./errors.js";

/** Returns the objects of a transfer list as an array. The list may be an iterator, which can be read only once. */
export function toTransferArray(transfer) {
  if (typeof transfer[Symbol.iterator] === "function") return [...transfer];
  throw new TypeError("transfer must be a list of objects");
}

/** Returns the objects of a transfer list in a safe order: a transfer that fails detaches none of them. */
export function orderTransferList(transfer) {
  const list = toTransferArray(transfer);
  // One buffer is the usual case. A detached buffer is empty, so a buffer with bytes needs no check.
  if (list.length === 1 && list[0] instanceof ArrayBuffer && list[0].byteLength > 0) return list;
  for (const item of list) {
    // Throws if the buffer is detached.
    if (item?.byteLength === 0) new Uint8Array(item);
    if (item?.locked || item?.readable?.locked || item?.writable?.locked) throw dataCloneError("a locked stream");
    if (isPort(item) && isClosedPort(item)) throw dataCloneError("a port that is closed or was transferred");
  }
  return list.sort((a, b) => transferPriority(a) - transferPriority(b));
}

/**
 * Returns whether a value is a `MessagePort` of any window. Does not use `instanceof`, because each window has its own
 * class.
 */
export function isPort(value) {
  return typeof value?.start === "function";
}

/** The ports that were closed by `closePort`. */
const closedPorts = new WeakSet();

export function closePort(port) {
  closedPorts.add(port);
  port.close();
}

/**
 * Returns whether a port is known to be closed. The check posts a port through itself. If the port is open,
 * `postMessage` throws in every engine. If the port is closed, `postMessage` throws in Node and Bun, but not in
 * Chromium and WebKit.
 */
export function isClosedPort(port) {
  // Objects that only act as ports are not checked, because such an object may accept any list and stay usable.
  if (!isInstance(port, "MessagePort")) return false;
  if (closedPorts.has(port)) return true;
  try {
    port.postMessage(undefined, [port]);
    return true;
  } catch {
    const { process, structuredClone } = globalThis;
    // A replacement of `structuredClone` may refuse any port.
    return Boolean(process && structuredClone) && isRefused(port) && !isRefused(new MessageChannel().port1);
  }
}

/**
 * Clones a value that cannot be read, with this port in the transfer list. So the port is never transferred. Returns
 * whether `structuredClone` refuses the list before it reads the value, as it does in Node and Bun if the port is
 * closed.
 */
function isRefused(port) {
  let isUnread = true;
  const value = {
    get member() {
      isUnread = false;
      throw value;
    },
  };
  try {
    structuredClone(value, { transfer: [port] });
  } catch {}
  return isUnread;
}

/**
 * Returns a number by which a transfer list is sorted, in ascending order. Objects that are not buffers come first.
 * Buffers of whole pages (64 KiB) follow, the smaller ones first. Such a buffer may be the memory of a wasm instance,
 * which cannot be transferred, and only the attempt shows this. All other buffers can be transferred, and are last.
 */
function transferPriority(item) {
  const bytes = item?.byteLength;
  return bytes === undefined ? -1 : bytes % 65_536 === 0 ? bytes : Infinity;
}

function dataCloneError(subject) {
  return new DOMException(`${subject} cannot be transferred`, "DataCloneError");
}
