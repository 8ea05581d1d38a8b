// Real iframes in the page, with the origin of the page and with other origins.

import { assert } from "chai";
import { afterThisTest } from "./cleanup.js";
import { until } from "./outcomes.js";

const query = new URLSearchParams(location.search);

/** `own` is the page's origin. `other` has another host and port, and `otherPort` has only another port. */
export const origins = { own: query.get("own"), other: query.get("other"), otherPort: query.get("otherPort") };

const fixture = (file, origin) => `${origin}/tests/web/fixtures/${file}`;

/** Opens an iframe, and waits until its document is ready. */
export async function openIframe(file, { origin = origins.own, sandbox, srcdoc, query } = {}) {
  const element = document.createElement("iframe");
  if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
  if (srcdoc !== undefined) element.srcdoc = srcdoc;
  else element.src = `${fixture(file, origin)}?${new URLSearchParams(query)}`;
  const ready = untilReady(element);
  document.body.append(element);
  afterThisTest(() => element.remove());
  await ready;
  return element;
}

/** Waits until the document in the iframe posts that it is ready. Rejects if the document posts a failure. */
export function untilReady(element) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the iframe has not posted that it is ready")), 8_000);
    addEventListener("message", function listener({ source, data }) {
      if (source !== element.contentWindow || (data?.type !== "ready" && data?.type !== "failed")) return;
      removeEventListener("message", listener);
      clearTimeout(timer);
      if (data.type === "ready") resolve(data);
      else reject(new Error(data.message));
    });
  });
}

/**
 * Opens an iframe that the test controls. The iframe posts messages on demand, and reports the messages that it
 * receives.
 */
export async function scriptedIframe(options) {
  const element = await openIframe("scripted-iframe.html", options);
  const received = [];
  const listener = ({ source, data }) => {
    if (source === element.contentWindow && data?.type === "received") received.push(data.message);
  };
  addEventListener("message", listener);
  afterThisTest(() => removeEventListener("message", listener));
  return {
    element,
    window: element.contentWindow,
    received,
    /** Makes the iframe post a message to this page, or to the iframe of this page with the index `to`. */
    post(message, to, transfer) {
      element.contentWindow.postMessage({ type: "post", message, to }, "*", transfer);
    },
    /** Waits until all earlier messages to the iframe and from the iframe have arrived. */
    async settled() {
      const mark = Math.random();
      this.post({ type: "received", message: { mark } });
      await until(() => received.some((message) => message?.mark === mark), "the iframe did not respond");
      received.splice(
        received.findIndex((message) => message?.mark === mark),
        1,
      );
    },
  };
}

/** Returns an array to which each message that the transport delivers is added. */
export function receivedBy(transport) {
  const delivered = [];
  transport.onMessage((message) => delivered.push(message));
  afterThisTest(() => transport.destroy());
  return delivered;
}

/** Returns the index of a window among the iframes of this page. */
export function frameIndex(window) {
  return Array.from({ length: frames.length }, (_, n) => frames[n]).indexOf(window);
}

/** Returns an array to which each message event of a window is added when the library reads the event's `data`. */
export function recordDataReads({ MessageEvent: { prototype } }) {
  const events = [];
  const descriptor = Object.getOwnPropertyDescriptor(prototype, "data");
  Object.defineProperty(prototype, "data", {
    ...descriptor,
    get() {
      if (new Error().stack.includes("/pkg/")) events.push(this);
      return descriptor.get.call(this);
    },
  });
  afterThisTest(() => Object.defineProperty(prototype, "data", descriptor));
  return events;
}

/**
 * Records the message listeners that are added to a target. Returns a set of the listeners that are not yet removed.
 */
export function recordMessageListeners(target) {
  const added = new Set();
  const { addEventListener: add, removeEventListener: remove } = target;
  target.addEventListener = function (type, listener, ...rest) {
    if (type === "message") added.add(listener);
    return add.call(this, type, listener, ...rest);
  };
  target.removeEventListener = function (type, listener, ...rest) {
    if (type === "message") added.delete(listener);
    return remove.call(this, type, listener, ...rest);
  };
  afterThisTest(() => {
    delete target.addEventListener;
    delete target.removeEventListener;
  });
  assert.notEqual(target.addEventListener, add);
  return added;
}

/** Creates an iframe whose document calls `connect`. With `attach`, adds it to the page, and does not wait for it. */
export function connectingIframe(query = {}, { file = "connect-frame.html", origin, sandbox, attach = true } = {}) {
  const element = document.createElement("iframe");
  if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
  element.src = iframeUrl(query, { file, origin });
  if (attach) document.body.append(element);
  afterThisTest(() => element.remove());
  return element;
}

export function iframeUrl(query = {}, { file = "connect-frame.html", origin = origins.own } = {}) {
  return `${origin}/tests/web/fixtures/${file}?${new URLSearchParams(query)}`;
}
