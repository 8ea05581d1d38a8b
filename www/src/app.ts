import { css, html, LitElement } from "lit";
import "./bottom-panel";
import { controls } from "./controls-style";
import "./editor";
import "./file-list";
import * as icons from "./icons";
import { nextPane, PaneSizes } from "./layout";
import "./preview-pane";
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

  readonly #sizes = new PaneSizes(this, STORAGE_KEY, DEFAULT_SIZES);

  constructor() {
    super();
    new Watch(this, theme);
    addEventListener("resize", () => this.requestUpdate());
    addEventListener("keydown", (event) => this.#handleKey(event));
  }

  override render() {
    const dark = theme.value === "dark";
    const { files, preview, panel } = this.#fitted();
    const maxPreview = innerWidth - files - MIN_SIZES.editor;
    const maxPanel = innerHeight - MIN_SIZES.work - 90;
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
          ${this.#sizes.bar("files", "Width of the file list", { value: files, min: MIN_SIZES.files, max: 400 })}
          <pw-editor role="region" aria-label="Editor"></pw-editor>
          ${this.#sizes.bar("preview", "Width of the preview", { value: preview, min: MIN_SIZES.preview, max: maxPreview, reverse: true })}
          <pw-preview role="region" aria-label="Preview" style="width: ${preview}px"></pw-preview>
        </div>
        ${this.#sizes.bar("panel", "Height of the console and messages", { value: panel, min: MIN_SIZES.panel, max: maxPanel, reverse: true, isHorizontal: true })}
        <pw-panel role="region" aria-label="Console and messages" style="height: ${panel}px"></pw-panel>
      </main>
      <pw-status role="contentinfo" aria-label="Status"></pw-status>
    `;
  }

  /** Returns the sizes that the user has chosen, reduced so that all panes fit in the window. */
  #fitted(): typeof DEFAULT_SIZES {
    const chosen = this.#sizes.value;
    const files = Math.min(chosen.files, Math.max(MIN_SIZES.files, innerWidth * 0.25));
    const preview = Math.min(
      chosen.preview,
      Math.max(MIN_SIZES.preview, innerWidth - files - Math.max(MIN_SIZES.editor, innerWidth * 0.35)),
    );
    const panel = Math.min(chosen.panel, Math.max(MIN_SIZES.panel, innerHeight * 0.45));
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
  #focusNext(step: 1 | -1): void {
    const panes = ["pw-files", "pw-editor", "pw-preview", "pw-panel"];
    this.#focus(nextPane(panes, this.shadowRoot?.activeElement?.localName, step) ?? "pw-editor");
  }

  #focus(pane: string): void {
    this.renderRoot.querySelector<HTMLElement>(pane)?.focus();
  }
}

customElements.define("pw-app", App);
