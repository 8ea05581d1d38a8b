// `portway/early`: imported first, and for its effect. It listens at once, and keeps the messages that come before wasm
// has loaded and a transport is there to hear them. It imports nothing, so that nothing runs before it.

const EARLY = Symbol.for("portway.early");
/** Whom a transport hears by now; with the functions below, once this module has run. */
const heard = (globalThis[EARLY] ??= new WeakSet());
/** More than this of one sender, and nobody is coming for them. */
const MOST_KEPT = 10_000;

function isOurs(data) {
  if (!Array.isArray(data)) return data?.jsonrpc === "2.0";
  // Ends at the first hole, of which there may be billions.
  return data.length > 0 && data.findIndex((item) => item?.jsonrpc !== "2.0") < 0;
}

/** Answers every request in a message: this side will never serve. */
function refuse(event, text) {
  const messages = Array.isArray(event.data) ? event.data : [event.data];
  const requests = messages.filter((message) => typeof message?.method === "string" && message.id !== undefined);
  const replies = requests.map(({ id }) => ({ jsonrpc: "2.0", error: { code: -32603, message: text }, id }));
  // In a frame, the answer goes to the window that asked, and to no other origin.
  const post = event.source
    ? (reply) => event.source.postMessage(reply, event.origin === "null" ? "*" : event.origin)
    : (reply) => globalThis.postMessage(reply);
  replies.forEach(post);
}

if (heard.take === undefined && typeof globalThis.addEventListener === "function") {
  let kept = [];
  /** How many were kept, by sender: whoever floods this side leaves room for others. */
  let counts = new WeakMap();
  let failure;
  const listener = (event) => {
    // What comes from the owner of a worker has no source.
    const sender = event.source ?? globalThis;
    if (!isOurs(event.data) || heard.has(sender)) return;
    if (failure !== undefined) return refuse(event, failure);
    const count = counts.get(sender) ?? 0;
    counts.set(sender, count + 1);
    if (count === MOST_KEPT) console.warn("portway: early messages are dropped, since nobody handles them");
    if (count < MOST_KEPT) kept.push(event);
  };
  globalThis.addEventListener("message", listener);
  Object.assign(heard, {
    take(isMine) {
      const mine = kept.filter(isMine);
      kept = kept.filter((event) => !mine.includes(event));
      // A worker has one owner, who has been heard now.
      if (typeof document === "undefined") globalThis.removeEventListener("message", listener);
      return mine;
    },
    settle(error) {
      failure = error === undefined ? undefined : `portway could not start: ${error?.message ?? error}`;
      if (failure === undefined) return;
      for (const event of kept) refuse(event, failure);
      kept = [];
      counts = new WeakMap();
    },
  });
}
