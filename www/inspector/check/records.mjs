// Makes records of taps.

let last = 1_796_000_000_000_000;

const at = () => (last += 1000);

/** Returns the record of a message. */
export function message(direction, text, link = "link") {
  return { kind: "message", at: at(), link, direction, form: "text", text, size: Buffer.byteLength(text) };
}

/** Returns the records of a request and its response. */
export function pair(id, method, params, result, error) {
  return [
    message("sent", JSON.stringify({ jsonrpc: "2.0", id, method, params })),
    message("received", JSON.stringify({ jsonrpc: "2.0", id, ...(error ? { error } : { result }) })),
  ];
}

/** Returns the records of notifications with numbers from `first` on. */
export function records(count, first = 0) {
  return Array.from({ length: count }, (_, index) =>
    message(
      "received",
      JSON.stringify({ jsonrpc: "2.0", method: `tick${(first + index) % 7}`, params: { n: first + index } }),
    ),
  );
}
