// Opens documents of other parties, and lets a test control these documents.

import { afterThisTest } from "../../web/support/cleanup.js";

const query = new URLSearchParams(globalThis.location?.search ?? "");

/** The origin of each party, by its name. Each origin is a separate site. */
export const origins = JSON.parse(query.get("parties") ?? "{}");
export const engine = query.get("engine") ?? "node";

/** A document that the test controls over a port. */
export class Party {
  #port;
  #waiting = new Map();
  #lastId = 0;

  /** `deliver` transfers the control port to the document. By default, this page posts the port to `window`. */
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

  /** Runs the function `code` in the document. The function is sent as text, so it cannot use variables of the test. */
  run(code, ...args) {
    const id = ++this.#lastId;
    const transfer = args.filter((arg) => arg instanceof MessagePort);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#port.postMessage({ id, code: String(code), args: args.filter((arg) => !transfer.includes(arg)) }, transfer);
    });
  }

  /** Adds an iframe to this document. Resolves to the document of the iframe after it has loaded. */
  async addIframe(name, id = "inner") {
    await this.run(embed, id, addressOf(name));
    const index = await this.run(
      (id) => [...document.querySelectorAll("iframe")].findIndex((one) => one.id === id),
      id,
    );
    return new Party(this.window.frames[index]);
  }

  /**
   * Opens a popup from this document. Resolves to the document of the popup after it has loaded, or to `undefined` if
   * the browser opens no popup.
   */
  async openPopup(name) {
    const isOpen = await this.run(async (address) => {
      globalThis.popup = open(address, "_blank", "width=200,height=200");
      return popup !== null;
    }, addressOf(name));
    if (!isOpen) return undefined;
    afterThisTest(() => this.run(() => popup.close()));
    // A port that is posted before the document has loaded is lost. So new ports are posted until the document answers.
    const started = performance.now();
    while (performance.now() - started < 10_000) {
      const party = new Party(
        undefined,
        (port) => void this.run((port) => popup.postMessage({ type: "control port" }, "*", [port]), port),
      );
      const hasAnswered = await Promise.race([
        party.run(() => true),
        new Promise((resolve) => setTimeout(resolve, 200, false)),
      ]);
      if (hasAnswered) return party;
    }
    throw new Error("the popup must load within 10 s");
  }

  /** Resolves to the messages that the document has received, except those of the control port. */
  received() {
    // The messages are converted to text and back, because ports in them cannot be cloned.
    return this.run(() => JSON.parse(JSON.stringify(received)));
  }
}

/** An iframe of this page, and the document in the iframe. */
export class Frame extends Party {
  constructor(element) {
    super(element.contentWindow);
    this.element = element;
  }

  /** Loads a document of the party `name` in the iframe. The test no longer controls the former document. */
  async load(name) {
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

/** Adds an iframe with a document of the party `name` to this page. Resolves after the document has loaded. */
export async function party(name, { sandbox } = {}) {
  const element = document.createElement("iframe");
  if (sandbox !== undefined) element.setAttribute("sandbox", sandbox);
  element.src = addressOf(name);
  const loadEvent = new Promise((resolve) => element.addEventListener("load", resolve, { once: true }));
  document.body.append(element);
  afterThisTest(() => element.remove());
  await loadEvent;
  return new Frame(element);
}
