import { JSONRPCPeer, type NavigationState, windowTransport } from "portway";
import type { FrameApi, HostApi, SavedHistory } from "./boundaries";
import type { ConsoleLog } from "./console-log";
import type { MessageRecorder } from "./message-recorder";
import { servePreviewFile } from "./preview-files";
import { Store } from "./store";

export type PreviewStatus = "empty" | "loading" | "live";

/** The time limit for a response of the document in the iframe. */
const ANSWER_TIMEOUT_MS = 8000;

/** The peer of the preview's iframe: serves its files, calls its methods, and receives its notifications. */
export class PreviewClient {
  readonly status = new Store<PreviewStatus>("empty");
  readonly navigation = new Store<NavigationState>({ url: "/", canGoBack: false, canGoForward: false });
  readonly #messages: MessageRecorder;
  readonly #console: ConsoleLog;
  #host: HTMLElement | undefined;
  #frame: HTMLIFrameElement | undefined;
  #peer: JSONRPCPeer<FrameApi, HostApi> | undefined;
  #refreshing = false;
  #history: SavedHistory | null = null;

  constructor(messages: MessageRecorder, console: ConsoleLog) {
    this.#messages = messages;
    this.#console = console;
  }

  /** Creates the iframe in `host`, and replaces an earlier iframe. */
  mount(host: HTMLElement): void {
    this.#host = host;
    this.#peer?.destroy();
    this.#peer = undefined;
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = "Preview of the project";
    host.replaceChildren(frame);
    this.#frame = frame;
    if (this.status.value !== "empty") this.#load();
  }

  /** Shows the newest build. The first call loads the iframe, and later calls load a new document in the iframe. */
  async show(): Promise<void> {
    if (this.status.value === "empty") return this.#load();
    await this.refresh();
  }

  async refresh(): Promise<void> {
    // A document that is still loading may have files of an older build. The running refresh waits for this document
    // and then reloads it, so a second refresh is not necessary.
    if (this.#refreshing || this.status.value === "empty") return;
    this.#refreshing = true;
    try {
      await this.#whenLive();
      this.#refreshing = false;
      await this.#peer?.request("refresh", undefined, { timeout: ANSWER_TIMEOUT_MS });
    } catch {
      this.#replaceIframe();
    } finally {
      this.#refreshing = false;
    }
  }

  async navigate(url: string): Promise<void> {
    await this.#callFrame((peer) => peer.request("navigate", { url }, { timeout: ANSWER_TIMEOUT_MS }));
  }

  async traverse(delta: number): Promise<void> {
    await this.#callFrame((peer) => peer.request("traverse", { delta }, { timeout: ANSWER_TIMEOUT_MS }));
  }

  async #callFrame(call: (peer: JSONRPCPeer<FrameApi, HostApi>) => Promise<null>): Promise<void> {
    try {
      await this.#whenLive();
      if (this.#peer) await call(this.#peer);
    } catch (error) {
      this.#console.add("error", error instanceof Error ? error.message : String(error));
    }
  }

  #load(): void {
    if (!this.#frame?.contentWindow) return;
    // The peer is created before the document loads, because the document may send messages at once. The window of the
    // iframe does not change when the document loads.
    this.#peer ??= this.#connect(this.#frame.contentWindow);
    this.status.set("loading");
    this.#frame.src = new URL("preview.html", document.baseURI).href;
  }

  /** Replaces an iframe whose document has not answered. Such a document may be blocked, and cannot reload itself. */
  #replaceIframe(): void {
    this.#console.add("warn", "The preview did not answer and was started again");
    if (this.#host) this.mount(this.#host);
  }

  #connect(window: Window): JSONRPCPeer<FrameApi, HostApi> {
    // "null" is the origin of a sandboxed iframe. Messages of other windows are ignored.
    const transport = this.#messages.tap("preview", windowTransport(window, { origin: "null" }));
    const peer = new JSONRPCPeer<FrameApi, HostApi>(transport);
    peer.method("fetch", ({ url, method }) => servePreviewFile(url, method));
    peer.method("enter", () => this.#history);
    peer.method("leave", (history) => {
      this.#history = history;
      this.status.set("loading");
    });
    peer.onNotify("console", ({ level, message, stack, timestamp }) => {
      this.#console.add(level, message, { detail: stack, time: timestamp, position: positionIn(stack) });
    });
    peer.onNotify("error", ({ message, source, lineno, colno, stack }) => {
      const position = lineno > 0 ? { file: source, line: lineno, column: colno } : undefined;
      this.#console.add("error", message, { position, detail: stack });
    });
    peer.onNotify("updateNavigationState", (state) => {
      if (this.status.value !== "live") this.#console.add("system", `Preview loaded ${state.url}`);
      this.navigation.set(state);
      this.status.set("live");
    });
    return peer;
  }

  #whenLive(): Promise<void> {
    if (this.status.value === "live") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => finish(() => reject(new Error("The preview is not ready"))), ANSWER_TIMEOUT_MS);
      const stop = this.status.subscribe((status) => {
        if (status === "live") finish(resolve);
      });
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        stop();
        settle();
      };
    });
  }
}

/** Returns the first position in a stack that is in a file of the project. The stack contains source positions. */
function positionIn(stack: string | undefined): { file: string; line: number; column: number } | undefined {
  const match = /\b((?:src|public)\/[^\s:()]+):(\d+):(\d+)/.exec(stack ?? "");
  return match?.[1] ? { file: match[1], line: Number(match[2]), column: Number(match[3]) } : undefined;
}
