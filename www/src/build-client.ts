import { attachFS, fs, type FileSystem, type RPC } from "@zenfs/core";
import {
  type BuildHostApi,
  type BuildOutput,
  type BuildWorkerApi,
  CallError,
  type Diagnostic,
  JSONRPCPeer,
  RPCError,
  wiggum,
  workerTransport,
} from "portway";
import type { BuildConfig } from "./boundaries";
import type { ConsoleLog } from "./console-log";
import type { MessageRecorder } from "./message-recorder";
import { DIST, filesBelow, ROOT } from "./project";
import { Store } from "./store";

export interface BuildState {
  readonly status: "starting" | "building" | "ready" | "failed";
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
}

const NO_DIAGNOSTICS: readonly Diagnostic[] = [];
const ENTRY = "src/main.tsx";
const CONFIG: BuildConfig = {
  root: ROOT,
  public: "public",
  // In the iframe, `location` is the address of the preview's runtime. The replacements have the address that the
  // address bar shows, and the history of the app.
  define: {
    location: "previewLocation",
    "window.location": "previewLocation",
    history: "previewHistory",
    "window.history": "previewHistory",
  },
};
/** The timeout of a build. The first build also starts the compiler, which takes seconds on a slow machine. */
const BUILD_TIMEOUT_MS = 60_000;

/**
 * The client of the build worker.
 *
 * Two protocols share the worker: JSON-RPC, and the protocol of ZenFS. The worker reads the project by the protocol of
 * ZenFS. The two protocols are independent of each other.
 */
export class BuildClient {
  readonly state = new Store<BuildState>({
    status: "starting",
    text: "Starting the compiler",
    diagnostics: NO_DIAGNOSTICS,
  });
  /** The number of the worker's requests to the file system. */
  readonly fileSystemRequests = new Store(0);
  readonly #messages: MessageRecorder;
  readonly #console: ConsoleLog;
  #fileSystem: FileSystem | undefined;
  #worker: Worker | undefined;
  #peer: JSONRPCPeer<BuildWorkerApi, BuildHostApi> | undefined;
  #running: AbortController | undefined;

  constructor(messages: MessageRecorder, console: ConsoleLog) {
    this.#messages = messages;
    this.#console = console;
  }

  start(fileSystem: FileSystem): void {
    this.#fileSystem = fileSystem;
    const worker = new Worker(new URL("./build-worker.ts", import.meta.url), { type: "module", name: "build" });
    // ZenFS declares its channels with types of Node. A worker of a browser has all members that ZenFS uses.
    attachFS(worker as unknown as RPC.Channel, fileSystem);
    worker.addEventListener("message", (event: MessageEvent<{ _zenfs?: boolean } | undefined>) => {
      if (event.data?._zenfs) this.fileSystemRequests.set(this.fileSystemRequests.value + 1);
    });
    worker.addEventListener("error", (event) =>
      this.#terminateWorker(event.message || "The build worker could not start"),
    );

    const transport = this.#messages.tap("build worker", workerTransport(worker));
    const peer = new JSONRPCPeer<BuildWorkerApi, BuildHostApi>(transport, { timeout: BUILD_TIMEOUT_MS });
    peer.onNotify("buildProgress", ({ phase, file }) => {
      if (this.#running) this.#set("building", file ? `${phase} ${file}` : phase);
    });
    peer.onNotify("buildWarning", (warning) => this.#console.addDiagnostic("warn", "Build warning", warning));
    this.#worker = worker;
    this.#peer = peer;
  }

  /** Cancels the running build. */
  cancel(): void {
    this.#running?.abort(new DOMException("superseded by a newer build", "AbortError"));
  }

  /**
   * Builds the project and stores the output. A later call cancels an earlier call. Returns true if the build has no
   * errors and was not cancelled.
   */
  async build(): Promise<boolean> {
    this.cancel();
    const running = new AbortController();
    this.#running = running;
    const started = performance.now();
    this.#set("building", this.state.value.status === "starting" ? "Starting the compiler" : "Building");
    try {
      if (!this.#worker && this.#fileSystem) this.start(this.#fileSystem);
      const params = { entry: ENTRY, config: CONFIG };
      const result = await this.#peer?.request("build", params, { signal: running.signal });
      if (!result || running.signal.aborted) return false;
      await writeOutput(result.output);
      if (running.signal.aborted) return false;
      const size = result.output.reduce((sum, { contents, bytes }) => sum + (bytes?.byteLength ?? contents.length), 0);
      const took = Math.round(performance.now() - started);
      this.#set("ready", `Built ${result.output.length} files, ${Math.ceil(size / 1024)} KB in ${took} ms`);
      return true;
    } catch (error) {
      if (!running.signal.aborted) this.#fail(error);
      return false;
    } finally {
      if (this.#running === running) this.#running = undefined;
    }
  }

  #fail(error: unknown): void {
    const diagnostics = diagnosticsOf(error);
    const code = error instanceof RPCError ? ` (${error.code})` : "";
    const name = error instanceof RPCError && error.code === wiggum.BUILD_FAILED ? "BUILD_FAILED" : "Build error";
    for (const diagnostic of diagnostics) this.#console.addDiagnostic("error", `${name}${code}`, diagnostic);
    const count = diagnostics.length === 1 ? "1 error" : `${diagnostics.length} errors`;
    this.#set("failed", `Build failed: ${count}`, diagnostics);
    // A worker that does not answer is terminated. The next build starts another worker.
    if (error instanceof CallError && error.reason === "timeout")
      this.#terminateWorker("The build worker did not answer");
  }

  #terminateWorker(message: string): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#peer?.destroy();
    this.#peer = undefined;
    this.#console.add("error", message);
    this.#set("failed", message, [{ message }]);
  }

  #set(status: BuildState["status"], text: string, diagnostics = NO_DIAGNOSTICS): void {
    // The errors of the last build stay visible while a build runs.
    this.state.set({ status, text, diagnostics: status === "building" ? this.state.value.diagnostics : diagnostics });
  }
}

function diagnosticsOf(error: unknown): readonly Diagnostic[] {
  if (error instanceof RPCError && Array.isArray(error.data)) return error.data as Diagnostic[];
  return [{ message: error instanceof Error ? error.message : String(error) }];
}

/** Writes the files of the newest build to the output folder, and removes all other files. */
async function writeOutput(output: readonly BuildOutput[]): Promise<void> {
  const newPaths = new Set(output.map(({ path }) => `${DIST}${path}`));
  for (const old of await filesBelow(DIST)) if (!newPaths.has(old)) await fs.promises.rm(old);
  for (const { path, contents, bytes } of output) {
    const full = `${DIST}${path}`;
    await fs.promises.mkdir(full.slice(0, full.lastIndexOf("/")), { recursive: true });
    await fs.promises.writeFile(full, bytes ?? contents);
  }
}
