// Runs a WASI guest in a worker, and connects its standard streams to the page.

import { startTimer } from "../timers.js";
import { compileCommand } from "./module.js";
import { parseOptions } from "./options.js";
import { HostRing, createSharedMemory } from "./shared-ring.js";
import { ConsoleLines, Utf8Sink } from "./stderr.js";

export async function startWasiGuest(module, options) {
  const settings = parseOptions(options);
  requireSharedMemory();
  settings.signal?.throwIfAborted();
  const command = await compileCommand(await module, settings.signal);
  settings.signal?.throwIfAborted();
  const guest = new Guest(settings);
  await guest.start(command);
  const { readable, writable, exited } = guest;
  return { readable, writable, exited, kill: () => guest.kill() };
}

function requireSharedMemory() {
  if (globalThis.crossOriginIsolated !== true) {
    throw new Error(
      "portway: a WASI guest shares memory with its page, which must be cross-origin isolated: serve the page with " +
        "Cross-Origin-Opener-Policy: same-origin, the page and wasi-worker.js with Cross-Origin-Embedder-Policy: " +
        "require-corp, and both over HTTPS or from localhost",
    );
  }
  // WebKitGTK hides `SharedArrayBuffer` even from isolated pages, unless its environment has
  // JSC_useSharedArrayBuffer=1.
  if (typeof SharedArrayBuffer !== "function")
    throw new Error("portway: a WASI guest needs a browser with SharedArrayBuffer");
}

class Guest {
  #settings;
  #worker;
  #memory;
  #ring;
  #started = withResolvers();
  #exited = withResolvers();
  /** The exit code or the error of the guest, once it has ended. */
  #outcome;
  /**
   * The output that was not read yet; undefined once it is discarded.
   * @type {Uint8Array[] | undefined}
   */
  #output = [];
  /**
   * Resumes the reader when there may be output.
   * @type {(value?: unknown) => void}
   */
  #wakeReader = () => {};
  /**
   * Resumes the writer when there may be room in stdin.
   * @type {(value?: unknown) => void}
   */
  #wakeWriter = () => {};
  #stdin;
  /** The error of stdin, once it cannot be written to. */
  #stdinError;
  #stderr;
  #console = new ConsoleLines();
  #onAbort = () => this.kill(this.#settings.signal.reason);

  exited = this.#exited.promise;

  constructor(settings) {
    this.#settings = settings;
    this.#memory = createSharedMemory(settings.stdinCapacity);
    this.#ring = new HostRing(this.#memory);
    this.#stderr = new Utf8Sink(settings.onStderr ?? ((text) => this.#console.add(text)));
    this.readable = new ReadableStream({
      pull: (controller) => this.#pullOutput(controller),
      cancel: () => this.#discardOutput(),
    });
    this.writable = new WritableStream({
      start: (controller) => this.#startStdin(controller),
      write: (chunk) => this.#write(chunk),
      close: () => this.#ring.end(),
      abort: () => this.#ring.end(),
    });
  }

  /** Starts the worker, and resolves once the guest runs. */
  async start(module) {
    const { args, env, worker, startTimeout, signal } = this.#settings;
    // Bundlers recognize the `new URL` below, and ship the worker script.
    const script = worker ?? new URL("./wasi-worker.js", import.meta.url);
    this.#worker = new Worker(script, { type: "module", name: "portway-wasi-guest" });
    this.#worker.addEventListener("message", ({ data }) => this.#onWorkerMessage(data));
    this.#worker.addEventListener("messageerror", () =>
      this.#fail("the guest's worker has posted a message that cannot be read"),
    );
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#fail(`the worker of the guest has failed: ${event.message || `${script} cannot be loaded, or is blocked`}`);
    });
    signal?.addEventListener("abort", this.#onAbort);
    const onTimeout = () => this.#fail(`the worker of the guest did not start within ${startTimeout} ms: ${script}`);
    const timer = startTimer(onTimeout, startTimeout);
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

  #onWorkerMessage(message) {
    if (this.#outcome !== undefined) return;
    switch (message.kind) {
      case "started":
        return this.#started.resolve();
      case "stdout":
        this.#output?.push(message.bytes);
        if (this.#output === undefined) this.#ring.acknowledge(message.bytes);
        return this.#wakeReader();
      case "stderr":
        this.#ring.acknowledge(message.bytes);
        return this.#stderr.add(message.bytes);
      case "room":
        return this.#wakeWriter();
      case "closed":
        return this.#closeStdin(new Error("portway: the guest has closed its stdin"));
      case "exit":
        return this.#end({ code: message.code });
      case "failed": {
        const { name, message: text, stack } = message;
        return this.#fail(`the guest has failed: ${name}: ${text}`, Object.assign(new Error(text), { name, stack }));
      }
    }
  }

  /**
   * Terminates the worker, ends the streams and settles the promises. Later calls have no effect. If the guest has not
   * started, `start` rejects with `reason`; without a reason, it rejects with the error of the outcome.
   */
  #end(outcome, reason) {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#worker.terminate();
    this.#settings.signal?.removeEventListener("abort", this.#onAbort);
    const { error = new Error(`portway: the guest has exited with ${outcome.code}`) } = outcome;
    this.#closeStdin(error);
    this.#wakeReader();
    this.#started.reject(reason ?? error);
    this.#exited.resolve(outcome);
    this.#stderr.end();
    this.#console.end();
  }

  /** Enqueues one piece of output, or closes the stream after the last piece. */
  async #pullOutput(controller) {
    while (this.#output?.length === 0 && this.#outcome === undefined) {
      await new Promise((resolve) => (this.#wakeReader = resolve));
    }
    const bytes = this.#output?.shift();
    if (bytes === undefined) return this.#output && controller.close();
    controller.enqueue(bytes);
    this.#ring.acknowledge(bytes);
  }

  /** Discards the output from now on, because its stream was cancelled. The guest continues to run. */
  #discardOutput() {
    for (const bytes of /** @type {Uint8Array[]} */ (this.#output)) this.#ring.acknowledge(bytes);
    this.#output = undefined;
    this.#wakeReader();
  }

  #startStdin(controller) {
    this.#stdin = controller;
    controller.signal?.addEventListener("abort", () => {
      this.#stdinError ??= controller.signal.reason;
      this.#wakeWriter();
    });
  }

  #closeStdin(error) {
    this.#stdinError ??= error;
    this.#stdin.error(error);
    this.#wakeWriter();
  }

  async #write(chunk) {
    let rest = toBytes(chunk);
    while (rest.length > 0) {
      if (this.#stdinError !== undefined) throw this.#stdinError;
      const length = this.#ring.write(rest);
      rest = rest.subarray(length);
      if (length === 0) await new Promise((resolve) => (this.#wakeWriter = resolve));
    }
  }
}

function toBytes(chunk) {
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new TypeError("portway: the guest's stdin accepts only bytes");
}

function withResolvers() {
  const deferred = {};
  deferred.promise = new Promise((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  return deferred;
}
