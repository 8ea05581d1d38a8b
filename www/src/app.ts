import { css, html, LitElement } from "lit";
import "./bottom-panel";
import { controls } from "./controls-style";
import "./editor";
import "./file-list";
import * as icons from "./icons";
import "./preview-pane";
import "./splitter";
import "./status-bar";
import { Watch } from "./store";
import { theme, toggleTheme } from "./theme";
import { workspace } from "./workspace";

const STORAGE_KEY = "portway-layout";
// Widths and heights in pixels. `work` is the height of the panes above the panel.
const DEFAULT_SIZES = { files: 190, preview: 460, panel: 260 };
const MIN_SIZES = { files: 130, editor: 260, preview: 240, panel: 90, work: 160 };

/** The layout of the playground: the panes, their sizes, and the global keys. */
class App extends LitElement {
  static override properties = { sizes: { state: true } };

  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-direction: column;
        height: 100vh;
        height: 100dvh;
        overflow: hidden;
      }

      header {
        display: flex;
        flex: none;
        align-items: center;
        gap: 8px;
        height: 46px;
        padding: 0 12px;
        background: var(--surface);
        border-bottom: 1px solid var(--line);
      }

      h1 {
        margin: 0 4px 0 2px;
        font-size: 15px;
        font-weight: 650;
        letter-spacing: -0.01em;
        white-space: nowrap;
      }

      h1 span {
        font-weight: 400;
        color: var(--muted);
      }

      kbd {
        padding: 0 5px;
        font: 11px/16px var(--sans);
        border: 1px solid color-mix(in srgb, currentColor 40%, transparent);
        border-radius: 4px;
      }

      main {
        display: flex;
        flex: 1;
        flex-direction: column;
        min-height: 0;
      }

      .panes {
        display: flex;
        flex: 1;
        min-height: 0;
      }

      pw-files,
      pw-preview,
      pw-panel {
        flex: none;
      }

      pw-editor {
        flex: 1;
      }

      @media (max-width: 760px) {
        kbd,
        h1 span {
          display: none;
        }
      }
    `,
  ];

  declare sizes: typeof DEFAULT_SIZES;

  constructor() {
    super();
    this.sizes = { ...DEFAULT_SIZES, ...savedSizes() };
    new Watch(this, theme);
    addEventListener("resize", () => this.requestUpdate());
    addEventListener("keydown", (event) => this.#handleKey(event));
  }

  override render() {
    const dark = theme.value === "dark";
    const { files, preview, panel } = this.#fitted();
    return html`
      <header>
        <img src=${new URL("./icon.svg", import.meta.url).href} alt="" width="24" height="24" />
        <h1>Portway <span>playground</span></h1>
        <span class="spacer"></span>
        <button title="Restore the sample project" @click=${() => workspace.reset()}>${icons.restore}Reset</button>
        <button class="icon" title="Switch to ${dark ? "light" : "dark"} colours"
          aria-label="Switch to ${dark ? "light" : "dark"} colours" @click=${toggleTheme}>
          ${dark ? icons.sun : icons.moon}
        </button>
        <button class="primary" aria-keyshortcuts="Control+S Meta+S" @click=${() => workspace.buildNow()}>
          ${icons.play}Build <kbd>${navigator.userAgent.includes("Mac") ? "⌘S" : "Ctrl S"}</kbd>
        </button>
      </header>
      <main>
        <div class="panes">
          <pw-files role="region" aria-label="Files" style="width: ${files}px"></pw-files>
          ${this.#splitter("files", "Width of the file list", files, MIN_SIZES.files, 400)}
          <pw-editor role="region" aria-label="Editor"></pw-editor>
          ${this.#splitter("preview", "Width of the preview", preview, MIN_SIZES.preview, innerWidth - files - MIN_SIZES.editor, true)}
          <pw-preview role="region" aria-label="Preview" style="width: ${preview}px"></pw-preview>
        </div>
        ${this.#splitter("panel", "Height of the console and messages", panel, MIN_SIZES.panel, innerHeight - MIN_SIZES.work - 90, true)}
        <pw-panel role="region" aria-label="Console and messages" style="height: ${panel}px"></pw-panel>
      </main>
      <pw-status role="contentinfo" aria-label="Status"></pw-status>
    `;
  }

  #splitter(pane: keyof typeof DEFAULT_SIZES, label: string, value: number, min: number, max: number, reverse = false) {
    const resize = ({ detail }: CustomEvent<number>) => {
      this.sizes = { ...this.sizes, [pane]: detail };
      localStorage.setItem(STORAGE_KEY, JSON.stringify(this.sizes));
    };
    return html`<pw-splitter orientation=${pane === "panel" ? "horizontal" : "vertical"} label=${label}
      .value=${value} .min=${min} .max=${Math.max(min, max)} ?reverse=${reverse} @resize=${resize}></pw-splitter>`;
  }

  /** Returns the sizes that the user has chosen, reduced so that all panes fit in the window. */
  #fitted(): typeof DEFAULT_SIZES {
    const files = Math.min(this.sizes.files, Math.max(MIN_SIZES.files, innerWidth * 0.25));
    const preview = Math.min(
      this.sizes.preview,
      Math.max(MIN_SIZES.preview, innerWidth - files - Math.max(MIN_SIZES.editor, innerWidth * 0.35)),
    );
    const panel = Math.min(this.sizes.panel, Math.max(MIN_SIZES.panel, innerHeight * 0.45));
    return { files, preview, panel };
  }

  #handleKey(event: KeyboardEvent): void {
    const command = event.ctrlKey || event.metaKey;
    if (command && event.key.toLowerCase() === "s") void workspace.buildNow();
    else if (command && event.code === "Backquote") this.#focus("pw-panel");
    else if (event.key === "F6") this.#focusNext(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  }

  /**
   * Moves the focus to the next or previous pane. `step` is 1 or -1. If no pane has the focus, focuses the first pane.
   */
  #focusNext(step: number): void {
    const panes = ["pw-files", "pw-editor", "pw-preview", "pw-panel"];
    const focused = this.shadowRoot?.activeElement?.localName ?? "";
    const at = panes.indexOf(focused);
    this.#focus(panes[(at === -1 && step < 0 ? 0 : at + step + panes.length) % panes.length] ?? "pw-editor");
  }

  #focus(pane: string): void {
    this.renderRoot.querySelector<HTMLElement>(pane)?.focus();
  }
}

function savedSizes(): Partial<typeof DEFAULT_SIZES> {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}") as Partial<typeof DEFAULT_SIZES>;
  } catch {
    return {};
  }
}

customElements.define("pw-app", App);
