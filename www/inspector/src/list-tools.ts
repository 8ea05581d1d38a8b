import { css, html, LitElement, nothing } from "lit";
import { controls } from "../../src/controls-style";
import * as icons from "../../src/icons";
import { Watch } from "../../src/store";
import type { InspectorContext } from "./context";
import { type FilterState, NO_FILTER } from "./model";
import { paneStyles } from "./styles";
import { tabList } from "./tabs";

/** Filters that one click sets. They are merged with the filter, and the members of a preset win. */
const PRESETS: readonly { name: string; filter: Partial<FilterState> }[] = [
  { name: "Method: user", filter: { method: "user" } },
  { name: "ID: 1", filter: { id: "1" } },
  { name: "Text: error", filter: { text: "error", isRegex: false } },
];

/** The filter of the list, and the commands for the whole list. */
class ListTools extends LitElement {
  static override properties = { context: { attribute: false } };

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

      .fault {
        flex-basis: 100%;
        color: var(--error);
      }
    `,
  ];

  declare context: InspectorContext;
  #isWatching = false;

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model } = this.context;
    new Watch(this, model.filter, model.summary, model.isPaused, model.isRevealed, model.textFilter.fault);
  }

  override render() {
    const { model } = this.context;
    const filter = model.filter.value;
    const counts = model.counts();
    const isPaused = model.isPaused.value;
    return html`
      <div class="bar">
        ${tabList(
          "Kinds of messages",
          [
            { name: "all", label: "All", count: counts.all },
            { name: "sent", label: "Sent", count: counts.sent },
            { name: "received", label: "Received", count: counts.received },
            { name: "notifications", label: "Notifications", count: counts.notifications },
            { name: "errors", label: "Errors", count: counts.errors, isFault: true },
          ],
          filter.tab,
          (tab) => this.#set({ tab }),
        )}
        <span class="spacer"></span>
        <button class="icon" aria-pressed=${isPaused} title="${isPaused ? "Resume: show the messages of the pause" : "Pause: record new messages, and show them later"}"
          aria-label=${isPaused ? "Resume" : "Pause"} @click=${() => model.setPaused(!isPaused)}>${isPaused ? icons.play : icons.pause}</button>
        <button class="icon" title="Remove all messages" aria-label="Clear" @click=${() => model.clear()}>${icons.clear}</button>
      </div>
      <div class="fields" role="search" aria-label="Filter the messages">
        ${this.#field("method", "Method", "A part of the method, in any case")}
        ${this.#field("id", "ID", "The whole id, also inside batches")}
        ${this.#field("text", filter.isRegex ? "Regular expression" : "Text", "A part of the compact JSON, in any case. The key / moves the focus here")}
        ${this.#toggle("isRegex", ".*", "The text is a regular expression")}
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
        ${model.textFilter.fault.value ? html`<span class="fault" role="alert">${model.textFilter.fault.value}</span>` : nothing}
      </div>
    `;
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
