import { css, html, LitElement, nothing } from "lit";
import "./console-panel";
import { controls } from "./controls-style";
import * as icons from "./icons";
import { Watch } from "./store";
import { workspace } from "./workspace";

const TABS = ["console", "messages"] as const;
type Tab = (typeof TABS)[number];

/** The console, and the inspector with the messages to and from the worker and the preview, as two tabs. */
class BottomPanel extends LitElement {
  static override properties = { selectedTab: { state: true } };

  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-direction: column;
        min-height: 0;
        background: var(--surface);
      }

      [role="tablist"] {
        display: flex;
        align-self: stretch;
        gap: 2px;
      }

      [role="tab"] {
        height: 100%;
        border-radius: 0;
        border: 0;
        border-bottom: 2px solid transparent;
        color: var(--muted);
      }

      [role="tab"][aria-selected="true"] {
        color: var(--text);
        font-weight: 600;
        border-bottom-color: var(--accent);
      }

      [role="tab"]:focus-visible {
        outline-offset: -3px;
      }

      .count {
        min-width: 20px;
        padding: 0 6px;
        font-size: 11px;
        font-weight: 400;
        line-height: 17px;
        color: var(--muted);
        background: var(--hover);
        border-radius: 9px;
      }

      .count[data-errors] {
        color: var(--error);
        background: var(--error-bg);
      }

      [role="tabpanel"] {
        flex: 1;
        min-height: 0;
      }

      .loading {
        margin: 0;
        padding: 16px;
        color: var(--muted);
      }

      [hidden] {
        display: none;
      }
    `,
  ];

  declare selectedTab: Tab;
  #isWatchingInspector = false;
  /** Whether the tab of the inspector was selected. Before that, the inspector is not rendered. */
  #isInspectorShown = false;

  constructor() {
    super();
    this.selectedTab = "console";
    new Watch(this, workspace.console.entries, workspace.messages.inspector, workspace.messages.fault);
  }

  override willUpdate(): void {
    const { messages } = workspace;
    if (!messages.inspector.value || this.#isWatchingInspector) return;
    this.#isWatchingInspector = true;
    new Watch(this, messages.inspector.value.model.summary);
  }

  override render() {
    const entries = workspace.console.entries.value;
    const errors = entries.filter(({ level }) => level === "error").length;
    const printed = entries.filter(({ level }) => level !== "system").length;
    const messageCount = workspace.messages.inspector.value?.model.totals().rows;
    const errorCount = errors === 1 ? "1 error" : `${errors} errors`;
    return html`
      <div class="bar">
        <div role="tablist" aria-label="Console and messages" title="Ctrl+\` moves the focus here, F6 moves it to the next pane" @keydown=${this.#switchTab}>
          ${this.#tab("console", "Console", errors ? errorCount : String(printed), errors > 0)}
          ${this.#tab("messages", "Messages", messageCount === undefined ? "" : String(messageCount), false)}
        </div>
        <span class="spacer"></span>
        ${
          this.selectedTab === "console"
            ? html`<button @click=${() => workspace.console.clear()}>${icons.clear}Clear</button>`
            : ""
        }
      </div>
      <pw-console role="tabpanel" aria-label="Console" tabindex="0" ?hidden=${this.selectedTab !== "console"}></pw-console>
      <div role="tabpanel" aria-label="Messages" ?hidden=${this.selectedTab !== "messages"}>
        ${this.#isInspectorShown ? this.#inspector() : nothing}
      </div>
    `;
  }

  #inspector() {
    const { inspector, fault } = workspace.messages;
    if (inspector.value) return html`<pw-inspector-panel .context=${inspector.value}></pw-inspector-panel>`;
    return html`<p class="loading" role="status">${fault.value || "Loading the inspector"}</p>`;
  }

  #tab(name: Tab, label: string, count: string, hasErrors: boolean) {
    const selected = this.selectedTab === name;
    return html`<button role="tab" id=${name} aria-selected=${selected} tabindex=${selected ? 0 : -1}
      @click=${() => this.#select(name)}>
      ${label} ${count ? html`<span class="count" ?data-errors=${hasErrors}>${count}</span>` : nothing}
    </button>`;
  }

  #select(tab: Tab): void {
    this.selectedTab = tab;
    if (tab !== "messages") return;
    this.#isInspectorShown = true;
    void workspace.messages.load();
  }

  readonly #switchTab = async (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    this.#select(this.selectedTab === "console" ? "messages" : "console");
    await this.updateComplete;
    this.focus();
  };

  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
  }
}

customElements.define("pw-panel", BottomPanel);
