// Logs the messages that a context sends and receives, as texts. The text of a cloned value is as docs/tap.md describes
// it. This code does not use the code of the tap, so that a test can compare its texts with those of the tap.

const base64 = (bytes) => btoa(String.fromCharCode(...bytes.subarray(0, 64)));

/** Returns the JSON that describes a value, as an object. */
function describe(value) {
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0)))
    return { $type: "number", value: Object.is(value, -0) ? "-0" : String(value) };
  if (value === undefined) return { $type: "undefined" };
  if (typeof value === "bigint") return { $type: "bigint", value: String(value) };
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(describe);
  if (value instanceof Date) return { $type: "Date", value: value.toISOString() };
  if (value instanceof Map)
    return { $type: "Map", entries: [...value].map(([key, item]) => [describe(key), describe(item)]) };
  if (value instanceof Set) return { $type: "Set", values: [...value].map(describe) };
  if (value instanceof Uint8Array) return { $type: "Uint8Array", length: value.length, bytes: base64(value) };
  if (Object.getPrototypeOf(value) !== Object.prototype) return { $type: value.constructor.name };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, describe(member)]));
}

/** Returns the messages of a value: of an array, of columns, or of one message. */
function messagesIn(value) {
  if (Array.isArray(value)) return value;
  if (value.method !== "rpc.columns") return [value];
  const { ids, methods, values } = value.params;
  return values.map((payload, n) => {
    const method = typeof methods === "string" ? methods : methods?.[n];
    const members = method === undefined ? { result: payload } : { method, params: payload };
    return { jsonrpc: "2.0", ...members, ...(ids === undefined ? {} : { id: ids[n] }) };
  });
}

/**
 * Returns the texts of the messages of a posted value, or no texts for values that are not messages. On a worker, each
 * message of a session has a wrapper with a random name (PROTOCOL.md).
 */
function textsOfPosted(posted) {
  const value = typeof posted?.portway === "string" ? posted.message : posted;
  const isMessage = typeof value === "object" && value !== null && (Array.isArray(value) || value.jsonrpc === "2.0");
  return isMessage ? messagesIn(value).map((message) => JSON.stringify(describe(message))) : [];
}

/** The messages that crossed the boundaries of this context. `logPosts` and `logArrivals` add them. */
export const log = { sent: [], received: [] };

/** Logs each value that `owner[name]` posts. Describes the value first: posting empties a transferred buffer. */
export function logPosts(owner, name) {
  const post = owner[name];
  owner[name] = function (value, ...rest) {
    const texts = textsOfPosted(value);
    const result = post.call(this, value, ...rest);
    log.sent.push(...texts);
    return result;
  };
}

/** Logs a value that has arrived. */
export function logArrival(value) {
  log.received.push(...textsOfPosted(value));
}

/** Logs the messages to objects of these classes, before any other listener of these objects is called. */
export function logArrivals(classes) {
  const add = EventTarget.prototype.addEventListener;
  const logged = new WeakSet();
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    const target = this ?? globalThis;
    if (type === "message" && !logged.has(target) && classes.some((kind) => target instanceof kind)) {
      logged.add(target);
      add.call(target, type, ({ data }) => logArrival(data));
    }
    return add.call(target, type, ...rest);
  };
}
