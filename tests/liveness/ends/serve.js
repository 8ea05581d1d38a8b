// What the far end of every call serves.

export const methods = {
  echo: (params) => params,
  /** The call that is in flight when the end dies. */
  never: () => new Promise(() => {}),
};

/** The options of an end that the address of its page or script names: `origin`, `heartbeat`. */
export function optionsFrom(search) {
  const query = new URLSearchParams(search);
  const options = { connectTimeout: 0, methods };
  if (query.has("origin")) options.origin = query.get("origin");
  if (query.has("heartbeat")) options.heartbeat = Number(query.get("heartbeat"));
  return options;
}

/** Keeps the processor busy. */
export function spin(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
