// A WASI guest in a worker, and its three streams on the page.

import { commandOf } from "./module.js";
import { checked } from "./options.js";
import { HostMemory, makeMemory } from "./shared-ring.js";
import { ConsoleLines, TextOf } from "./stderr.js";

export async function startWasiGuest(module, options) {
  const settings = checked(options);
  requireSharedMemory();
  settings.signal?.throwIfAborted();
  const command = await commandOf(await module, settings.signal);
  settings.signal?.throwIfAborted();
  const guest = new Guest(settings);
  await guest.start(command);
  const { readable, writable, exited } = guest;
  return { readable, writable, exited, kill: () => guest.kill() };
}

function requireSharedMemory() {
  if (globalThis.crossOriginIsolated !== true) {
    throw new Error(
      "portway: a guest shares memory with its page, which has to be isolated from other origins for that: serve the page " +
        "with Cross-Origin-Opener-Policy: same-origin, it and wasi-worker.js with Cross-Origin-Embedder-Policy: " +
        "require-corp, and both by HTTPS or from localhost",
    );
  }
  // WebKitGTK hides it from isolated pages, too, unless JSC_useSharedArrayBuffer=1 is in its environment.
  if (typeof SharedArrayBuffer !== "function")
    throw new Error("portway: a guest needs a browser with SharedArrayBuffer");
}

class Guest {
  #settings;
  #worker;
  #memory;
  #shared;
  #started = withResolvers();
  #exited = withResolvers();
  /** How it has ended; undefined as long as it runs. */
  #outcome;
  /** What it has written and nobody has read. */
  #output = [];
  /** Called when there may be output, and when there may be room in stdin; each waits for its own. */
  #wakeReader = () => {};
  #wakeWriter = () => {};
  #stdin;
  /** Why nothing can be written any more. */
  #broken;
  #stderr;
  #console = new ConsoleLines();
  #onAbort = () => this.kill(this.#settings.signal.reason);

  exited = this.#exited.promise;

  constructor(settings) {
    this.#settings = settings;
    this.#memory = makeMemory(settings.stdinCapacity);
    this.#shared = new HostMemory(this.#memory);
    this.#stderr = new TextOf(settings.onStderr ?? ((text) => this.#console.add(text)));
    this.readable = new ReadableStream({ pull: (controller) => this.#pull(controller), cancel: () => this.#discard() });
    this.writable = new WritableStream({
      start: (controller) => this.#open(controller),
      write: (chunk) => this.#write(chunk),
      close: () => this.#shared.end(),
      abort: () => this.#shared.end(),
    });
  }

  /** Until the guest runs. */
  async start(module) {
    const { args, env, worker, startTimeout, signal } = this.#settings;
    // Bundlers know this form of the URL, and ship the file.
    const script = worker ?? new URL("./wasi-worker.js", import.meta.url);
    this.#worker = new Worker(script, { type: "module", name: "portway-wasi-guest" });
    this.#worker.addEventListener("message", ({ data }) => this.#told(data));
    this.#worker.addEventListener("messageerror", () =>
      this.#fail("the guest's module cannot be shared with its worker"),
    );
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#fail(
        `the worker of the guest has failed: ${event.message || `${script} cannot be loaded, or is not allowed to be`}`,
      );
    });
    signal?.addEventListener("abort", this.#onAbort);
    const late = () => this.#fail(`the worker of the guest has not started within ${startTimeout} ms: ${script}`);
    const timer = startTimeout > 0 && setTimeout(late, startTimeout);
    try {
      this.#worker.postMessage({ module, memory: this.#memory, args, env });
      await this.#started.promise;
    } catch (error) {
      this.kill(error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  kill(reason) {
    const cause = reason === undefined ? undefined : { cause: reason };
    this.#end({ error: new Error("portway: the guest was killed", cause) }, reason);
  }

  #fail(text, cause) {
    this.#end({ error: new Error(`portway: ${text}`, cause && { cause }) });
  }

  #told(message) {
    if (this.#outcome !== undefined) return;
    switch (message.kind) {
      case "started":
        return this.#started.resolve();
      case "stdout":
        this.#output?.push(message.bytes);
        if (this.#output === undefined) this.#shared.took(message.bytes);
        return this.#wakeReader();
      case "stderr":
        this.#shared.took(message.bytes);
        return this.#stderr.add(message.bytes);
      case "room":
        return this.#wakeWriter();
      case "closed":
        return this.#breakStdin(new Error("portway: the guest has closed its stdin"));
      case "exit":
        return this.#end({ code: message.code });
      case "failed": {
        const { name, message: text, stack } = message;
        return this.#fail(`the guest has failed: ${name}: ${text}`, Object.assign(new Error(text), { name, stack }));
      }
    }
  }

  /** Settles everything, once. `reason` is what a start that is aborted rejects with. */
  #end(outcome, reason) {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#worker.terminate();
    this.#settings.signal?.removeEventListener("abort", this.#onAbort);
    const { error = new Error(`portway: the guest has exited with ${outcome.code}`) } = outcome;
    this.#breakStdin(error);
    this.#wakeReader();
    this.#started.reject(reason ?? error);
    this.#exited.resolve(outcome);
    this.#stderr.end();
    this.#console.end();
  }

  /** One piece of output, or the end behind the last. */
  async #pull(controller) {
    while (this.#output?.length === 0 && this.#outcome === undefined) {
      await new Promise((resolve) => (this.#wakeReader = resolve));
    }
    const bytes = this.#output?.shift();
    if (bytes === undefined) return this.#output && controller.close();
    controller.enqueue(bytes);
    this.#shared.took(bytes);
  }

  /** Nobody reads the output any more: the guest goes on, and what it writes is thrown away. */
  #discard() {
    for (const bytes of this.#output) this.#shared.took(bytes);
    this.#output = undefined;
    this.#wakeReader();
  }

  #open(controller) {
    this.#stdin = controller;
    controller.signal?.addEventListener("abort", () => {
      this.#broken ??= controller.signal.reason;
      this.#wakeWriter();
    });
  }

  #breakStdin(error) {
    this.#broken ??= error;
    this.#stdin.error(error);
    this.#wakeWriter();
  }

  async #write(chunk) {
    let rest = asBytes(chunk);
    while (rest.length > 0) {
      if (this.#broken !== undefined) throw this.#broken;
      const length = this.#shared.put(rest);
      rest = rest.subarray(length);
      if (length === 0) await new Promise((resolve) => (this.#wakeWriter = resolve));
    }
  }
}

function asBytes(chunk) {
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new TypeError("portway: the guest's stdin takes bytes");
}

function withResolvers() {
  const it = {};
  it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }));
  return it;
}
