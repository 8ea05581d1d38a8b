import { VirtualizerController } from "@tanstack/lit-virtual";
import { css, html, LitElement, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { controls } from "./controls-style";
import * as icons from "./icons";
import type { MessageRow } from "./message-log";
import { Watch } from "./store";
import { workspace } from "./workspace";

const ROW_HEIGHT = 24;

/**
 * Shows the messages to and from the worker and the preview. The newest message is at the end. Only visible rows are
 * rendered.
 */
class MessageList extends LitElement {
  static override properties = { boundary: { state: true }, search: { state: true } };

  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-direction: column;
        min-height: 0;
      }

      .tools {
        display: flex;
        flex: none;
        gap: 6px;
        align-items: center;
        padding: 5px 8px;
        border-bottom: 1px solid var(--line);
      }

      .tools input {
        flex: 0 1 220px;
        min-width: 80px;
      }

      .table {
        display: flex;
        flex-direction: column;
        flex: 1;
        min-height: 0;
        font: 12px/${ROW_HEIGHT}px var(--mono);
      }

      .rows {
        flex: 1;
        min-height: 0;
        overflow: auto;
      }

      .all {
        position: relative;
      }

      .row {
        display: grid;
        grid-template-columns: 96px 64px 72px 88px minmax(110px, 180px) 64px 1fr;
        column-gap: 10px;
        padding: 0 12px;
        height: ${ROW_HEIGHT}px;
        white-space: nowrap;
      }

      .row > * {
        overflow: hidden;
        text-overflow: ellipsis;
      }

      .head {
        flex: none;
        color: var(--muted);
        font-family: var(--sans);
        border-bottom: 1px solid var(--line);
      }

      .rows .row {
        position: absolute;
        inset: 0 0 auto;
      }

      .rows .row:hover {
        background: var(--hover);
      }

      .row[data-kind="error"] .kind {
        color: var(--error);
      }

      .row[data-kind="request"] .kind {
        color: var(--syn-tag);
      }

      .row[data-kind="result"] .kind {
        color: var(--ok);
      }

      .row[data-kind="notification"] .kind {
        color: var(--syn-keyword);
      }

      .method {
        font-weight: 600;
      }

      .quiet {
        color: var(--muted);
      }

      .empty {
        padding: 16px;
        font-family: var(--sans);
        color: var(--muted);
      }
    `,
  ];

  declare boundary: string;
  declare search: string;
  readonly #virtual = new VirtualizerController<HTMLElement, HTMLElement>(this, {
    getScrollElement: () => this.renderRoot?.querySelector<HTMLElement>(".rows") ?? null,
    count: 0,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
  });
  #followsEnd = true;

  constructor() {
    super();
    this.boundary = "";
    this.search = "";
    new Watch(this, workspace.messages.rows, workspace.messages.paused);
  }

  override render() {
    const rows = workspace.messages.rows.value.filter((row) => this.#matchesFilter(row));
    const virtual = this.#virtual.getVirtualizer();
    virtual.setOptions({ ...virtual.options, count: rows.length });
    return html`
      ${this.#tools(rows.length)}
      <div class="table" role="table" aria-label="Messages" aria-rowcount=${rows.length + 1}>
        <div class="row head" role="row">
          ${["Time", "Boundary", "Direction", "Kind", "Method", "Id", "Summary"].map((name) => html`<span role="columnheader">${name}</span>`)}
        </div>
        <div class="rows" data-search=${this.search} role="rowgroup" tabindex="0" aria-label="Rows" @scroll=${this.#storeScroll}>
          ${rows.length ? nothing : html`<div class="empty">No message to show.</div>`}
          <div class="all" style="height: ${virtual.getTotalSize()}px">
            ${repeat(
              virtual.getVirtualItems(),
              ({ index }) => rows[index]?.seq,
              ({ index, start }) => {
                const row = rows[index];
                return row ? this.#row(row, index, start) : nothing;
              },
            )}
          </div>
        </div>
      </div>
    `;
  }

  #tools(shown: number) {
    const { messages } = workspace;
    const paused = messages.paused.value;
    return html`<div class="tools">
      <select aria-label="Boundary" @change=${(event: Event) => (this.boundary = (event.target as HTMLSelectElement).value)}>
        <option value="">All boundaries</option>
        <option value="build">Build worker</option>
        <option value="preview">Preview</option>
      </select>
      <input type="search" placeholder="Filter by method or text" aria-label="Filter the messages"
        @input=${(event: Event) => (this.search = (event.target as HTMLInputElement).value.toLowerCase())} />
      <span class="muted">${shown} shown</span>
      <span class="spacer"></span>
      <button aria-pressed=${paused} @click=${() => messages.paused.set(!paused)}>
        ${paused ? icons.play : icons.pause}${paused ? "Resume" : "Pause"}
      </button>
      <button @click=${() => messages.clear()}>${icons.clear}Clear</button>
    </div>`;
  }

  #row(row: MessageRow, index: number, start: number) {
    const sent = row.direction === "sent";
    const elapsed = row.elapsed === undefined ? "" : `${row.elapsed} ms  `;
    return html`<div class="row" role="row" aria-rowindex=${index + 2} data-kind=${row.kind} data-boundary=${row.boundary}
      style="transform: translateY(${start}px)">
      <span role="cell" class="quiet">${clock(row.time)}</span>
      <span role="cell">${row.boundary}</span>
      <span role="cell" class="quiet">${sent ? "→ sent" : "← got"}</span>
      <span role="cell" class="kind">${row.kind}</span>
      <span role="cell" class="method">${row.method}</span>
      <span role="cell" class="quiet">${row.id}</span>
      <span role="cell" title=${row.summary}><span class="quiet">${elapsed}</span>${row.summary}</span>
    </div>`;
  }

  #matchesFilter({ boundary, method, kind, summary }: MessageRow): boolean {
    if (this.boundary && boundary !== this.boundary) return false;
    return !this.search || `${method} ${kind} ${summary}`.toLowerCase().includes(this.search);
  }

  override updated(): void {
    const rows = this.renderRoot.querySelector(".rows");
    if (rows && this.#followsEnd) rows.scrollTop = rows.scrollHeight;
  }

  /** Stores whether the user has scrolled to the end of the list. If so, the list scrolls to new messages. */
  readonly #storeScroll = ({ currentTarget }: Event) => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget as HTMLElement;
    this.#followsEnd = scrollTop + clientHeight >= scrollHeight - ROW_HEIGHT;
  };
}

function clock(time: number): string {
  const date = new Date(time);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

customElements.define("pw-messages", MessageList);
