// Documents of other parties, which a test controls.

import { afterThisTest } from "../../web/support/cleanup.js";

const query = new URLSearchParams(globalThis.location?.search ?? "");

/** The origin of each party, by name. Each is a site of its own. */
export const origins = JSON.parse(query.get("parties") ?? "{}");
export const engine = query.get("engine") ?? "node";

/** A document that is under control. */
export class Party {
  #port;
  #waiting = new Map();
  #lastId = 0;

  /** `deliver` hands the control port to the document, where this page cannot post to its window. */
  constructor(window, deliver = (port) => window.postMessage({ type: "control port" }, "*", [port])) {
    const { port1, port2 } = new MessageChannel();
    this.window = window;
    this.#port = port1;
    port1.onmessage = ({ data: { id, result, error } }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error));
    };
    deliver(port2);
  }

  /** Runs a function in the document. It is sent as text, and so sees its arguments alone. */
  run(code, ...args) {
    const id = ++this.#lastId;
    const transfer = args.filter((arg) => arg instanceof MessagePort);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#port.postMessage({ id, code: String(code), args: args.filter((arg) => !transfer.includes(arg)) }, transfer);
    });
  }

  /** The document of a frame in this one, once it has loaded. */
  async within(name, id = "inner") {
    await this.run(embed, id, addressOf(name));
    const index = await this.run(
      (id) => [...document.querySelectorAll("iframe")].findIndex((one) => one.id === id),
      id,
    );
    return new Party(this.window.frames[index]);
  }

  /** The document of a popup of this one, once it has loaded; undefined where none can be opened. */
  async opened(name) {
    const isOpen = await this.run(async (address) => {
      globalThis.popup = open(address, "_blank", "width=200,height=200");
      return popup !== null;
    }, addressOf(name));
    if (!isOpen) return undefined;
    afterThisTest(() => this.run(() => popup.close()));
    // A port that is posted before the document has loaded is lost.
    const started = performance.now();
    while (performance.now() - started < 10_000) {
      const party = new Party(
        undefined,
        (port) => void this.run((port) => popup.postMessage({ type: "control port" }, "*", [port]), port),
      );
      const isThere = await Promise.race([
        party.run(() => true),
        new Promise((resolve) => setTimeout(resolve, 200, false)),
      ]);
      if (isThere) return party;
    }
    throw new Error("the popup does not load");
  }

  /** The messages that it has received, but for those of its control. */
  received() {
    // By way of text, since ports cannot be cloned.
    return this.run(() => JSON.parse(JSON.stringify(received)));
  }
}

/** A frame of this page, and the document in it. */
export class Frame extends Party {
  constructor(element) {
    super(element.contentWindow);
    this.element = element;
  }

  /** Loads the document of another party, or reloads it; the former document is no longer controlled. */
  async go(name) {
    await loaded(this.element, addressOf(name));
    return new Frame(this.element);
  }
}

const addressOf = (name) => `${origins[name]}/tests/hostile/page/party.html`;

function embed(id, address) {
  const element = document.createElement("iframe");
  element.id = id;
  element.src = address;
  const loaded = new Promise((resolve) => element.addEventListener("load", () => resolve(), { once: true }));
  document.body.append(element);
  return loaded;
}

function loaded(element, address) {
  const promise = new Promise((resolve) => element.addEventListener("load", resolve, { once: true }));
  element.src = address;
  return promise;
}

/** A frame with a document of this party. */
export async function party(name, { sandbox } = {}) {
  const element = document.createElement("iframe");
  if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
  element.src = addressOf(name);
  const isLoaded = new Promise((resolve) => element.addEventListener("load", resolve, { once: true }));
  document.body.append(element);
  afterThisTest(() => element.remove());
  await isLoaded;
  return new Frame(element);
}
