// Living pairs, on every boundary: a peer here, and an end of `fixtures/` over there.

import init, * as portway from "/pkg/portway.js";

await init();
const { connect } = portway;
const query = new URLSearchParams(location.search);

/** `own` is the page's origin, `other` differs in host and port. */
export const origins = { own: query.get("own"), other: query.get("other") };

/** Forty frames at once take their time to come up. */
const connectTimeout = 60_000;

export const fixtureUrl = (file, origin = origins.own) => `${origin}/tests/liveness/fixtures/${file}`;

/** The kinds of frames, each with its origin and its name. */
export const frameKinds = {
  "own origin": { at: origins.own, origin: origins.own },
  "another origin": { at: origins.other, origin: origins.other },
  sandboxed: { at: origins.own, origin: "null", sandbox: "allow-scripts" },
};

export function frameElement(kind, file, query) {
  const { at, sandbox } = frameKinds[kind];
  const element = document.createElement("iframe");
  if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
  element.src = `${fixtureUrl(file, at)}?${new URLSearchParams({ origin: origins.own, ...query })}`;
  document.body.append(element);
  return element;
}

/** A frame, connected. */
export async function frame(kind, { heartbeat, ...options } = {}) {
  const query = heartbeat === undefined ? {} : { heartbeat };
  const element = frameElement(kind, "frame.html", query);
  const { origin } = frameKinds[kind];
  return { element, peer: await connect(element, { origin, connectTimeout, ...query, ...options }) };
}

export function worker(file = "worker.js", query = {}) {
  return new Worker(`${fixtureUrl(file)}?${new URLSearchParams(query)}`, { type: "module" });
}

/** A worker, connected. */
export async function connectedWorker({ heartbeat } = {}) {
  const options = heartbeat === undefined ? {} : { heartbeat };
  const started = worker("worker.js", options);
  return { worker: started, peer: await connect(started, { connectTimeout, ...options }) };
}

/** A port whose other end is in a worker that `start` returns; `nest.js` passes it on to a worker of its own. */
export async function workersPort(file) {
  const { port1, port2 } = new MessageChannel();
  const holder = worker(file);
  holder.postMessage({ type: "port", port: port2 }, [port2]);
  return { worker: holder, peer: await connect(port1, { connectTimeout }) };
}

/** Another window; undefined if the engine lets no script open one. */
export function open(file, query = {}, origin = origins.own) {
  return (
    window.open(`${fixtureUrl(file, origin)}?${new URLSearchParams(query)}`, "_blank", "popup,width=200,height=200") ??
    undefined
  );
}

/** Resolves once a window of ours, or a frame, has loaded the library. */
export async function ready(realm) {
  const deadline = performance.now() + connectTimeout;
  while (!realm.ready) {
    if (performance.now() > deadline) throw new Error("a window does not come up");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return realm;
}

export { connect, connectTimeout, portway };
