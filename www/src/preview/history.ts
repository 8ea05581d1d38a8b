import type { NavigationState } from "portway/inline";
import type { HistoryEntry, SavedHistory } from "../boundaries";

/** A fictitious origin, which distinguishes the addresses of the app from the addresses of other sites. */
const ORIGIN = "http://preview.localhost";

const START: HistoryEntry = { url: "/", state: null, document: 0 };

/**
 * The app's session history. A sandboxed document cannot change its path, so the build replaces `location` and
 * `history` by objects of this module.
 */
export class PreviewHistory {
  readonly #onChange: (state: NavigationState) => void;
  readonly #reload: () => void;
  #entries: HistoryEntry[] = [START];
  #index = 0;
  readonly location: PreviewLocation;

  constructor(saved: SavedHistory | null, onChange: (state: NavigationState) => void, reload: () => void) {
    this.#onChange = onChange;
    this.#reload = reload;
    if (saved) {
      this.#entries = [...saved.entries];
      this.#index = saved.index;
    }
    this.location = new PreviewLocation(this);
    Object.assign(globalThis, { previewLocation: this.location, previewHistory: this });
  }

  get url(): URL {
    return new URL(this.#current.url, ORIGIN);
  }

  get length(): number {
    return this.#entries.length;
  }

  get state(): unknown {
    return this.#current.state;
  }

  pushState(state: unknown, _title: string, url?: string | URL | null): void {
    this.#push({ url: this.#checked(url), state, document: this.#current.document });
    this.reportState();
  }

  replaceState(state: unknown, _title: string, url?: string | URL | null): void {
    this.#entries[this.#index] = { url: this.#checked(url), state, document: this.#current.document };
    this.reportState();
  }

  back(): void {
    this.go(-1);
  }

  forward(): void {
    this.go(1);
  }

  go(delta = 0): void {
    const target = this.#entries[this.#index + delta];
    if (!target) return;
    const sameDocument = delta !== 0 && target.document === this.#current.document;
    this.#index += delta;
    if (!sameDocument) {
      this.#reload();
      return;
    }
    this.reportState();
    dispatchEvent(new PopStateEvent("popstate", { state: target.state }));
  }

  /** Returns the path of an address of the app, or undefined for an address of another site. */
  resolve(url: string): string | undefined {
    try {
      const target = new URL(url, this.url);
      return target.origin === ORIGIN ? target.href.slice(ORIGIN.length) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Navigates to a path as a browser does: loads a new document, unless only the fragment changes. */
  async open(path: string, replace = false): Promise<void> {
    const target = new URL(path, ORIGIN);
    const { pathname, search } = this.url;
    const keepsDocument = target.hash !== "" && target.pathname === pathname && target.search === search;
    const document = keepsDocument
      ? this.#current.document
      : Math.max(...this.#entries.map((entry) => entry.document)) + 1;
    const entry = { url: path, state: null, document };
    if (replace) this.#entries[this.#index] = entry;
    else this.#push(entry);
    if (!keepsDocument) return this.#reload();
    this.reportState();
    window.document.getElementById(target.hash.slice(1))?.scrollIntoView();
    dispatchEvent(new HashChangeEvent("hashchange"));
  }

  reportState(): void {
    this.#onChange({
      url: this.#current.url,
      canGoBack: this.#index > 0,
      canGoForward: this.#index < this.#entries.length - 1,
    });
  }

  save(): SavedHistory {
    return { entries: this.#entries, index: this.#index };
  }

  reload(): void {
    this.#reload();
  }

  get #current(): HistoryEntry {
    return this.#entries[this.#index] ?? START;
  }

  #push(entry: HistoryEntry): void {
    this.#entries = [...this.#entries.slice(0, this.#index + 1), entry];
    this.#index = this.#entries.length - 1;
  }

  /**
   * Returns the path of an address. Throws for an address of another site. Without an address, returns the current
   * path.
   */
  #checked(url: string | URL | null | undefined): string {
    const path = url == null ? this.#current.url : this.resolve(String(url));
    if (path === undefined) throw new DOMException(`The address must belong to the app, got ${url}`, "SecurityError");
    return path;
  }
}

/** The replacement of `location` for the app. */
class PreviewLocation {
  readonly #history: PreviewHistory;

  constructor(history: PreviewHistory) {
    this.#history = history;
    for (const part of [
      "href",
      "origin",
      "protocol",
      "host",
      "hostname",
      "port",
      "pathname",
      "search",
      "hash",
    ] as const) {
      Object.defineProperty(this, part, {
        get: () => this.#history.url[part],
        set: (value: string) => this.assign(part === "href" ? value : this.#with(part, value)),
      });
    }
  }

  declare readonly href: string;

  assign(url: string): void {
    this.#go(url, false);
  }

  replace(url: string): void {
    this.#go(url, true);
  }

  reload(): void {
    this.#history.reload();
  }

  toString(): string {
    return this.href;
  }

  #go(url: string, replace: boolean): void {
    const path = this.#history.resolve(url);
    if (path === undefined) throw new DOMException(`The address must belong to the app, got ${url}`, "SecurityError");
    void this.#history.open(path, replace);
  }

  /** Returns the current address with one part changed. */
  #with(part: Exclude<keyof URL, "searchParams">, value: string): string {
    const url = this.#history.url;
    Reflect.set(url, part, value);
    return url.href;
  }
}
