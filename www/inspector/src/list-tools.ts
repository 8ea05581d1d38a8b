import { css, html, LitElement, nothing } from "lit";
import { controls } from "../../src/controls-style";
import * as icons from "../../src/icons";
import { Watch } from "../../src/store";
import type { InspectorContext } from "./context";
import { visible } from "./format";
import { type FilterState, NO_FILTER } from "./model";
import { paneStyles } from "./styles";
import { tabList } from "./tabs";

/** Filters that one click sets. The members of a preset replace those of the current filter. */
const PRESETS: readonly { name: string; filter: Partial<FilterState> }[] = [
  { name: "Method: user", filter: { method: "user" } },
  { name: "ID: 1", filter: { id: "1" } },
  { name: "Text: error", filter: { text: "error", isRegex: false } },
];

/** The filter of the list, and the commands for the whole list. */
class ListTools extends LitElement {
  static override properties = { context: { attribute: false }, isExpanded: { state: true } };

  static override styles = [
    controls,
    paneStyles,
    css`
      :host {
        flex: none;
      }

      .bar {
        gap: 2px;
      }

      /* In a narrow pane, the tabs scroll. The arrow keys reach all of them, so they need no scroll bar. */
      [role="tablist"] {
        flex: 0 1 auto;
        overflow-x: auto;
        scrollbar-width: none;
      }

      [role="tab"],
      .bar > button {
        flex: none;
      }

      [role="tab"] {
        padding: 0 4px;
        font-size: 12px;
      }

      .fields {
        display: flex;
        flex-wrap: wrap;
        gap: 6px;
        align-items: center;
        padding: 6px 8px;
        border-bottom: 1px solid var(--line);
      }

      .fields input {
        flex: 1 1 90px;
        width: 90px;
        min-width: 60px;
      }

      .fields input.id {
        flex: 0 1 70px;
      }

      .fields input.text {
        flex: 3 1 140px;
      }

      select {
        max-width: 110px;
      }

      button.small {
        border-color: var(--line);
      }

      .fields.low {
        flex-wrap: nowrap;
        gap: 4px;
        padding: 0 4px;
        height: 34px;
      }

      .fields.low input.text {
        flex: 1;
      }

      .fields.low > :is(button, select) {
        flex: none;
      }

      .fields.low > select {
        max-width: 94px;
      }

      .fault {
        flex-basis: 100%;
        color: var(--error);
      }
    `,
  ];

  declare context: InspectorContext;
  /** Whether the rarely used fields are shown. On the page of the inspector, they are always shown. */
  declare isExpanded: boolean;
  #isWatching = false;

  constructor() {
    super();
    this.isExpanded = false;
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model } = this.context;
    new Watch(this, model.filter, model.summary, model.isPaused, model.isRevealed, model.textFilter.fault);
  }

  override render() {
    return this.context.isEmbedded ? this.#low() : this.#full();
  }

  #full() {
    const { model } = this.context;
    const filter = model.filter.value;
    return html`
      <div class="bar">
        ${tabList("Kinds of messages", this.#tabs(), filter.tab, (tab) => this.#set({ tab }))}
        <span class="spacer"></span>
        ${this.#commands()}
      </div>
      <div class="fields" role="search" aria-label="Filter the messages">
        ${this.#method()}
        ${this.#text()}
        ${this.#toggles()}
        ${this.#fault()}
      </div>
    `;
  }

  /** Returns one line, which has the fields that are used most. A button shows the other fields. */
  #low() {
    const { tab, method, id, errorsOnly, invalidOnly, pendingOnly } = this.context.model.filter.value;
    const others = [method, id, errorsOnly, invalidOnly, pendingOnly].filter(Boolean).length;
    const setTab = (event: Event) =>
      this.#set({ tab: (event.target as HTMLSelectElement).value as FilterState["tab"] });
    return html`
      <div role="search" aria-label="Filter the messages">
        <div class="fields low">
          ${this.#links()}
          <select aria-label="Kinds of messages" @change=${setTab}>
            ${this.#tabs().map(({ name, label, count }) => html`<option value=${name} .selected=${name === tab}>${label} ${count}</option>`)}
          </select>
          ${this.#text()}
          <button class="small" aria-expanded=${this.isExpanded} title="Show more filters" @click=${() => (this.isExpanded = !this.isExpanded)}>More${others ? ` (${others})` : ""}</button>
          ${this.#commands()}
        </div>
        ${this.isExpanded ? html`<div class="fields">${this.#method()}${this.#toggles()}</div>` : nothing}
        ${this.#fault()}
      </div>
    `;
  }

  #links() {
    const { model } = this.context;
    const { links } = model.filter.value;
    const names = model.core.links();
    // Here, the user can choose one link. In the tab Links, the user can choose several.
    const value = links.length > 1 ? "several" : String(links[0] ?? "");
    const set = ({ target }: Event) => {
      const chosen = (target as HTMLSelectElement).value;
      this.#set({ links: chosen ? [Number(chosen)] : [] });
    };
    return html`<select aria-label="Link" @change=${set}>
      <option value="" .selected=${value === ""}>All links</option>
      ${names.map(
        ({ index, name, state }) => html`<option value=${index} .selected=${value === String(index)}>
          ${visible(name)}${state === "closed" ? " (closed)" : ""}
        </option>`,
      )}
      ${value === "several" ? html`<option value="several" selected disabled>${links.length} links</option>` : nothing}
    </select>`;
  }

  #tabs() {
    const counts = this.context.model.counts();
    return [
      { name: "all", label: "All", count: counts.all },
      { name: "sent", label: "Sent", count: counts.sent },
      { name: "received", label: "Received", count: counts.received },
      { name: "notifications", label: "Notifications", count: counts.notifications },
      { name: "errors", label: "Errors", count: counts.errors, isFault: true },
    ] as const;
  }

  #commands() {
    const { model } = this.context;
    const isPaused = model.isPaused.value;
    return html`
        <button class="icon" aria-pressed=${isPaused} title="${isPaused ? "Resume: show the messages of the pause" : "Pause: record new messages, and show them later"}"
          aria-label=${isPaused ? "Resume" : "Pause"} @click=${() => model.setPaused(!isPaused)}>${isPaused ? icons.play : icons.pause}</button>
        <button class="icon" title="Remove all messages" aria-label="Clear" @click=${() => model.clear()}>${icons.clear}</button>
    `;
  }

  #method() {
    return html`
        ${this.#field("method", "Method", "A part of the method, in upper or lower case")}
        ${this.#field("id", "ID", "The whole id, also inside batches")}
    `;
  }

  #text() {
    const filter = this.context.model.filter.value;
    return html`
        ${this.#field("text", filter.isRegex ? "Regular expression" : "Text", "A part of the compact JSON, in upper or lower case. The key / moves the focus here")}
        ${this.#toggle("isRegex", ".*", "The text is a regular expression")}
    `;
  }

  #toggles() {
    const { model } = this.context;
    return html`
        ${this.#toggle("errorsOnly", "Errors", "Only rows with an error")}
        ${this.#toggle("invalidOnly", "Invalid", "Only rows that violate the specification")}
        ${this.#toggle("pendingOnly", "Pending", "Only rows with a pending call")}
        <select aria-label="Presets" @change=${this.#preset}>
          <option value="">Presets</option>
          ${PRESETS.map(({ name }) => html`<option>${name}</option>`)}
          <option>Reset</option>
        </select>
        <button class="small" aria-pressed=${model.isRevealed.value} title="Show passwords, tokens and other secrets, here and in exports"
          @click=${() => model.isRevealed.set(!model.isRevealed.value)}>Secrets</button>
    `;
  }

  #fault() {
    const fault = this.context.model.textFilter.fault.value;
    return fault ? html`<span class="fault" role="alert">${fault}</span>` : nothing;
  }

  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>("input.text")?.focus();
  }

  #set(part: Partial<FilterState>): void {
    const { model } = this.context;
    model.setFilter({ ...model.filter.value, ...part });
  }

  #field(name: "method" | "id" | "text", label: string, title: string) {
    return html`<input class=${name} type="search" placeholder=${label} aria-label=${label} title=${title} spellcheck="false"
      .value=${this.context.model.filter.value[name]}
      @input=${(event: Event) => this.#set({ [name]: (event.target as HTMLInputElement).value })} />`;
  }

  #toggle(name: "isRegex" | "errorsOnly" | "invalidOnly" | "pendingOnly", label: string, title: string) {
    const isOn = this.context.model.filter.value[name];
    return html`<button class="small" aria-pressed=${isOn} title=${title} aria-label=${name === "isRegex" ? "Regular expression .*" : nothing}
      @click=${() => this.#set({ [name]: !isOn })}>${label}</button>`;
  }

  readonly #preset = (event: Event) => {
    const select = event.target as HTMLSelectElement;
    const preset = PRESETS.find(({ name }) => name === select.value);
    if (preset) this.#set(preset.filter);
    else if (select.value === "Reset") this.#set(NO_FILTER);
    select.value = "";
  };
}

customElements.define("pw-list-tools", ListTools);
