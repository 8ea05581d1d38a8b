// Opens connected pairs over every boundary. One peer is in this page, and the other peer is in a file of `fixtures/`.

import init, * as portway from "/pkg/portway.js";

await init();
const { connect } = portway;
const query = new URLSearchParams(location.search);

/** `own` is the origin of this page. `other` has another host and another port. */
export const origins = { own: query.get("own"), other: query.get("other") };

/** The timeout is long, because iframes load slowly if forty of them load at the same time. */
const connectTimeout = 60_000;

export const fixtureUrl = (file, origin = origins.own) => `${origin}/tests/liveness/fixtures/${file}`;

/** The kinds of iframes, by name. `addressOrigin` is the origin of the address, `origin` that of the document. */
export const iframeKinds = {
  "own origin": { addressOrigin: origins.own, origin: origins.own },
  "another origin": { addressOrigin: origins.other, origin: origins.other },
  sandboxed: { addressOrigin: origins.own, origin: "null", sandbox: "allow-scripts" },
};

export function frameElement(kind, file, query) {
  const { addressOrigin, sandbox } = iframeKinds[kind];
  const element = document.createElement("iframe");
  if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
  element.src = `${fixtureUrl(file, addressOrigin)}?${new URLSearchParams({ origin: origins.own, ...query })}`;
  document.body.append(element);
  return element;
}

/** Opens an iframe, and connects to its document. */
export async function frame(kind, { heartbeat, ...options } = {}) {
  const query = heartbeat === undefined ? {} : { heartbeat };
  const element = frameElement(kind, "frame.html", query);
  const { origin } = iframeKinds[kind];
  return { element, peer: await connect(element, { origin, connectTimeout, ...query, ...options }) };
}

export function worker(file = "worker.js", query = {}) {
  return new Worker(`${fixtureUrl(file)}?${new URLSearchParams(query)}`, { type: "module" });
}

/** Starts a worker, and connects to it. */
export async function connectedWorker({ heartbeat } = {}) {
  const options = heartbeat === undefined ? {} : { heartbeat };
  const started = worker("worker.js", options);
  return { worker: started, peer: await connect(started, { connectTimeout, ...options }) };
}

/** Connects over a port to a worker whose script is `file`. With `nest.js`, a nested worker receives the port. */
export async function connectOverPort(file) {
  const { port1, port2 } = new MessageChannel();
  const holder = worker(file);
  holder.postMessage({ type: "port", port: port2 }, [port2]);
  return { worker: holder, peer: await connect(port1, { connectTimeout }) };
}

/** Opens another window. Returns `undefined` if the engine does not let scripts open windows. */
export function open(file, query = {}, origin = origins.own) {
  return (
    window.open(`${fixtureUrl(file, origin)}?${new URLSearchParams(query)}`, "_blank", "popup,width=200,height=200") ??
    undefined
  );
}

/** Resolves after the document of a window or iframe has loaded the library; see `fixtures/holder.js`. */
export async function untilReady(realm) {
  const deadline = performance.now() + connectTimeout;
  while (!realm.ready) {
    if (performance.now() > deadline) throw new Error(`a window must load within ${connectTimeout} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return realm;
}

export { connect, connectTimeout, portway };
