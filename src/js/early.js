// `portway/early`: imported first, and for its effect. It listens at once, and keeps the messages that come before wasm
// has loaded and a transport is there to hear them. It imports nothing, so that nothing runs before it.

const EARLY = Symbol.for("portway.early");
/** More than this, and nobody is coming for them. */
const MOST_KEPT = 10_000;

function isOurs(data) {
  if (typeof data !== "object" || data === null) return false;
  return data.jsonrpc === "2.0" || (Array.isArray(data) && data.some((item) => item?.jsonrpc === "2.0"));
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

if (globalThis[EARLY] === undefined && typeof globalThis.addEventListener === "function") {
  let kept = [];
  const taken = [];
  let failure;
  const listener = (event) => {
    if (!isOurs(event.data) || taken.some((isMine) => isMine(event))) return;
    if (failure !== undefined) refuse(event, failure);
    else if (kept.length < MOST_KEPT) kept.push(event);
  };
  globalThis.addEventListener("message", listener);
  globalThis[EARLY] = {
    take(isMine) {
      const mine = kept.filter(isMine);
      kept = kept.filter((event) => !mine.includes(event));
      taken.push(isMine);
      // A worker has one owner, who has been heard now.
      if (typeof document === "undefined") globalThis.removeEventListener("message", listener);
      return mine;
    },
    settle(error) {
      failure = error === undefined ? undefined : `portway could not start: ${error?.message ?? error}`;
      if (failure === undefined) return;
      for (const event of kept) refuse(event, failure);
      kept = [];
    },
  };
}
