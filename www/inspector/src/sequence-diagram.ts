import { css, html, LitElement, nothing, svg } from "lit";
import type { Row } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { Watch } from "../../src/store";
import type { InspectorContext } from "./context";
import { clock, visible } from "./format";

/** The number of rows of the list that are drawn. */
const ROWS = 120;
/** The height of a line in pixels. */
const LINE = 24;
/** The height of the head in pixels. */
const HEAD = 26;
/** The distance of two lifelines in pixels. */
const COLUMN = 230;
/** The position of the first lifeline in pixels. */
const LEFT = 150;
/** The maximum number of links that are drawn. Messages of further links are not drawn. */
const MAX_LINKS = 8;

/** The last rows of the list as a sequence diagram: this side on the left, and a lifeline for each link. */
class SequenceDiagram extends LitElement {
  static override properties = { context: { attribute: false } };

  static override styles = [
    controls,
    css`
      :host {
        display: block;
        background: var(--surface);
      }

      .scroll {
        height: 100%;
        overflow: auto;
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
  #isWatching = false;
  #followsEnd = true;

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
    const { count } = model.core.layout(0, 0);
    const rows = model.core.rows(Math.max(0, count - ROWS), ROWS).filter(({ direction }) => direction !== null);
    if (!rows.length) return html`<p class="empty">No message to show.</p>`;
    const links = [...new Set(rows.map(({ link }) => link))].slice(0, MAX_LINKS);
    const shown = rows.filter(({ link }) => links.includes(link));
    const width = LEFT + links.length * COLUMN + 130;
    const height = HEAD + shown.length * LINE + 12;
    const names = model.linkNames();
    const columns = [LEFT, ...links.map((_, index) => columnAt(index))];
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Sequence" @scroll=${this.#scrolled}><svg width=${width} height=${height} viewBox="0 0 ${width} ${height}" role="group" aria-label="Sequence of the last ${shown.length} messages">
      ${columns.map((x) => svg`<line class="life" x1=${x} x2=${x} y1=${HEAD} y2=${height}></line>`)}
      <text class="head" x=${LEFT} y="16" text-anchor="middle">this side</text>
      ${links.map((link, index) => svg`<text class="head" x=${columnAt(index)} y="16" text-anchor="middle">${visible((names[link] ?? "").slice(0, 32))}</text>`)}
      ${shown.map((row, index) => this.#message(row, columnAt(links.indexOf(row.link)), HEAD + (index + 1) * LINE))}
    </svg></div>`;
  }

  #message(row: Row, x: number, y: number) {
    const { model } = this.context;
    const isSent = row.direction === "sent";
    const [from, to] = isSent ? [LEFT, x] : [x, LEFT];
    const tip = isSent ? -7 : 7;
    const label =
      `${row.method === null ? row.kind : visible(row.method).slice(0, 24)} ${visible(row.id ?? "").slice(0, 10)}`.trim();
    const isSelected = model.selected.value === row.seq;
    return svg`<g class="message ${row.kind} ${isSelected ? "selected" : ""}" data-seq=${row.seq} role="img"
      aria-label="${row.direction}, ${row.kind}, ${label}" @click=${() => model.selected.set(row.seq)}>
      <text class="quiet" x="8" y=${y + 4}>${clock(row.at)}</text>
      <path class="arrow" d="M${from} ${y}H${to}M${to + tip} ${y - 4}L${to} ${y}l${tip} 4"></path>
      <text class="label" x=${(LEFT + columnAt(0)) / 2 + (x - columnAt(0))} y=${y - 5} text-anchor="middle">${label}</text>
      ${row.calls === "pending" ? svg`<text class="quiet" x=${x + 8} y=${y + 4}>…</text>` : nothing}
    </g>`;
  }
}

function columnAt(index: number): number {
  return LEFT + (index + 1) * COLUMN;
}

customElements.define("pw-sequence", SequenceDiagram);
