import { css, html, LitElement, nothing, svg } from "lit";
import type { Row } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { Watch } from "../../src/store";
import type { InspectorContext } from "./context";
import { clock, count, plural, visible } from "./format";

/** The diagram draws at most this many rows: the last ones of the list. */
const ROWS = 120;
/** The height of a line in pixels. */
const LINE = 24;
/** The height of the head in pixels. */
const HEAD = 26;
/** The distance of two lifelines in pixels. */
const COLUMN = 230;
/** The position of the first lifeline in pixels. */
const LEFT = 150;
/** The diagram draws at most this many links at a time. The user can choose other links. */
const MAX_LINKS = 8;

/**
 * The last rows of the list as a sequence diagram: this side on the left, and a lifeline for each link. The arrow keys
 * select a message, and Enter moves the focus to its detail.
 */
class SequenceDiagram extends LitElement {
  static override properties = { context: { attribute: false }, group: { state: true } };

  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-direction: column;
        background: var(--surface);
      }

      .scroll {
        flex: 1;
        min-height: 0;
        overflow: auto;
      }

      .scroll:focus-visible {
        outline-offset: -2px;
      }

      .note {
        display: flex;
        flex: none;
        flex-wrap: wrap;
        gap: 2px 8px;
        align-items: center;
        padding: 3px 12px;
        font-size: 12px;
        color: var(--muted);
        border-bottom: 1px solid var(--line);
      }

      select {
        min-height: 22px;
        font-size: 12px;
      }

      svg {
        display: block;
        font: 12px/1 var(--mono);
      }

      text {
        fill: var(--text);
      }

      .quiet,
      .head {
        fill: var(--muted);
      }

      .head {
        font-family: var(--sans);
      }

      .life {
        stroke: var(--line-strong);
      }

      .arrow {
        fill: none;
        stroke: var(--syn-tag);
      }

      .result .arrow {
        stroke: var(--ok);
        stroke-dasharray: 5 3;
      }

      .notification .arrow {
        stroke: var(--syn-keyword);
      }

      :is(.error, .invalid) .arrow {
        stroke: var(--error);
        stroke-dasharray: 5 3;
      }

      .message {
        cursor: default;
      }

      .message:hover .label,
      .selected .label {
        fill: var(--accent);
        font-weight: 600;
      }

      .empty {
        padding: 14px 12px;
        margin: 0;
        color: var(--muted);
      }
    `,
  ];

  declare context: InspectorContext;
  /** The index of the drawn group of links. Each group has `MAX_LINKS` links. */
  declare group: number;
  #isWatching = false;
  #followsEnd = true;
  /** The sequence numbers of the drawn rows. */
  #drawnSeqs: readonly number[] = [];

  constructor() {
    super();
    this.group = 0;
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model } = this.context;
    new Watch(this, model.summary, model.selected, model.filter);
  }

  override updated(): void {
    const scroller = this.renderRoot.querySelector(".scroll");
    if (!scroller || !this.#followsEnd) return;
    scroller.scrollTop = scroller.scrollHeight;
  }

  readonly #scrolled = (event: Event) => {
    const { scrollTop, clientHeight, scrollHeight } = event.currentTarget as HTMLElement;
    this.#followsEnd = scrollTop + clientHeight >= scrollHeight - LINE;
  };

  override render() {
    const { model } = this.context;
    const { count: entries } = model.core.layout(0, 0);
    const rows = model.core.rows(Math.max(0, entries - ROWS), ROWS).filter(({ direction }) => direction !== null);
    if (!rows.length) return html`<p class="empty">No message to show.</p>`;
    // The first group has the links with the newest messages. Within a group, the links are in the order of their
    // oldest messages among these rows.
    const newest = [...new Set(rows.map(({ link }) => link).reverse())];
    const groups = Math.ceil(newest.length / MAX_LINKS);
    const group = Math.min(this.group, groups - 1);
    const chosen = newest.slice(group * MAX_LINKS, (group + 1) * MAX_LINKS);
    const links = [...new Set(rows.map(({ link }) => link))].filter((link) => chosen.includes(link));
    const drawn = rows.filter(({ link }) => links.includes(link));
    this.#drawnSeqs = drawn.map(({ seq }) => seq);
    const width = LEFT + links.length * COLUMN + 130;
    const height = HEAD + drawn.length * LINE + 12;
    const names = model.linkNames();
    const columns = [LEFT, ...links.map((_, index) => columnAt(index))];
    const selected = model.selected.value;
    const isDrawn = selected !== null && this.#drawnSeqs.includes(selected);
    return html`${this.#note(rows.length, newest.length, drawn.length, group)}
    <div class="scroll" tabindex="0" role="listbox" aria-label="Sequence" @scroll=${this.#scrolled} @keydown=${this.#key}
      aria-activedescendant=${isDrawn ? `message-${selected}` : nothing}><svg width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="group" aria-label="Sequence of ${plural(drawn.length, "message")}">
      ${columns.map((x) => svg`<line class="life" x1=${x} x2=${x} y1=${HEAD} y2=${height}></line>`)}
      <text class="head" x=${LEFT} y="16" text-anchor="middle">this side</text>
      ${links.map((link, index) => svg`<text class="head" x=${columnAt(index)} y="16" text-anchor="middle">${visible((names[link] ?? "").slice(0, 32))}</text>`)}
      ${drawn.map((row, index) => this.#message(row, columnAt(links.indexOf(row.link)), HEAD + (index + 1) * LINE))}
    </svg></div>`;
  }

  /** If some rows or links are not drawn, shows how many are drawn, and lets the user choose the drawn links. */
  #note(rowCount: number, linkCount: number, drawnCount: number, group: number) {
    const total = this.context.model.totals().shown;
    if (rowCount === total && linkCount <= MAX_LINKS) return nothing;
    const choose = (event: Event) => {
      this.group = Number((event.target as HTMLSelectElement).value);
    };
    const groups = Array.from({ length: Math.ceil(linkCount / MAX_LINKS) }, (_, index) => index);
    return html`<div class="note">
      <span>${count(drawnCount)} of ${count(total)} rows${linkCount > MAX_LINKS ? `, ${Math.min(MAX_LINKS, linkCount - group * MAX_LINKS)} of ${linkCount} links` : ""}</span>
      ${
        linkCount > MAX_LINKS
          ? html`<select aria-label="Drawn links" @change=${choose}>${groups.map(
              (each) => html`<option value=${each} ?selected=${each === group}>
                links ${each * MAX_LINKS + 1} to ${Math.min(linkCount, (each + 1) * MAX_LINKS)}, by their newest message
              </option>`,
            )}</select>`
          : nothing
      }
    </div>`;
  }

  readonly #key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { selected } = this.context.model;
    const last = this.#drawnSeqs.length - 1;
    const at = selected.value === null ? -1 : this.#drawnSeqs.indexOf(selected.value);
    const steps: Record<string, number> = {
      ArrowDown: at === -1 ? last : Math.min(at + 1, last),
      ArrowUp: at === -1 ? last : Math.max(at - 1, 0),
      Home: 0,
      End: last,
    };
    const next = steps[event.key];
    if (event.key === "Enter" && at !== -1)
      this.dispatchEvent(new CustomEvent("show-pane", { detail: "detail", bubbles: true, composed: true }));
    else if (next === undefined) return;
    event.preventDefault();
    const seq = next === undefined ? undefined : this.#drawnSeqs[next];
    if (seq === undefined) return;
    this.#followsEnd = next === last;
    selected.set(seq);
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector(`#message-${seq}`)?.scrollIntoView({ block: "nearest" }),
    );
  };

  #message(row: Row, x: number, y: number) {
    const { model } = this.context;
    const isSent = row.direction === "sent";
    const [from, to] = isSent ? [LEFT, x] : [x, LEFT];
    const tip = isSent ? -7 : 7;
    const label =
      `${row.method === null ? row.kind : visible(row.method).slice(0, 24)} ${visible(row.id ?? "").slice(0, 10)}`.trim();
    const isSelected = model.selected.value === row.seq;
    const isPending = row.calls === "pending";
    const name = `${clock(row.at)} ${label}${isPending ? " …" : ""}, ${row.direction}, ${row.kind}`;
    return svg`<g class="message ${row.kind} ${isSelected ? "selected" : ""}" data-seq=${row.seq} id="message-${row.seq}"
      role="option" aria-selected=${isSelected} aria-label=${name} @click=${() => model.selected.set(row.seq)}>
      <text class="quiet" x="8" y=${y + 4}>${clock(row.at)}</text>
      <path class="arrow" d="M${from} ${y}H${to}M${to + tip} ${y - 4}L${to} ${y}l${tip} 4"></path>
      <text class="label" x=${(LEFT + columnAt(0)) / 2 + (x - columnAt(0))} y=${y - 5} text-anchor="middle">${label}</text>
      ${isPending ? svg`<text class="quiet" x=${x + 8} y=${y + 4}>…</text>` : nothing}
    </g>`;
  }
}

function columnAt(index: number): number {
  return LEFT + (index + 1) * COLUMN;
}

customElements.define("pw-sequence", SequenceDiagram);
