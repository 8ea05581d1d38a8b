import { css, html, LitElement, nothing } from "lit";
import type { Anchor, Layout, Totals } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { ElementSize } from "../../src/layout";
import { Watch } from "../../src/store";
import type { InspectorContext } from "./context";
import { bytes, count } from "./format";
import "./list-files";
import "./list-tools";
import { rowStyles, rowTemplate } from "./message-row";
import { paneStyles } from "./styles";

/** The height of a row with one line, in pixels. */
const COMPACT_HEIGHT = 30;

/** A scroll position, and the layout of the list at this position. The layout is valid for one revision of the list. */
interface Position {
  readonly top: number;
  readonly layout: Layout;
  readonly revision: number;
}

/**
 * Shows the messages. The newest is at the end. Only visible rows are rendered. The list follows its end until the user
 * scrolls away. From then on, the visible rows do not move when others are added or dropped.
 */
class ListPane extends LitElement {
  static override properties = { context: { attribute: false }, isCompact: { state: true } };

  static override styles = [
    controls,
    paneStyles,
    rowStyles,
    css`
      .rows {
        position: relative;
        flex: 1;
        min-height: 0;
        overflow: auto;
        overflow-anchor: none;
      }

      .rows:focus-visible {
        outline-offset: -2px;
      }

      .all {
        position: relative;
        min-width: 420px;
        overflow: hidden;
      }

      footer {
        display: flex;
        flex: none;
        flex-wrap: wrap;
        gap: 0 8px;
        align-items: center;
        min-height: 30px;
        padding: 0 8px 0 12px;
        overflow: hidden;
        font-size: 12px;
        color: var(--muted);
        white-space: nowrap;
        background: var(--raised);
        border-top: 1px solid var(--line);
      }
    `,
  ];

  declare context: InspectorContext;
  declare isCompact: boolean;
  #isWatching = false;
  #followsEnd = true;
  #anchor: Anchor | null = null;
  /** The position that the user has scrolled to, and its layout, until they are rendered. */
  #requested: Position | null = null;
  /** The position that this component has set. Its scroll event is ignored. */
  #expected = -1;
  /** The position of the last render. */
  #rendered = 0;
  #layout: Layout | undefined;
  /** The size of the visible part. If it were read from the element, each frame would compute the styles. */
  readonly #size = new ElementSize(this, ".rows");

  constructor() {
    super();
    this.isCompact = false;
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model } = this.context;
    if (this.context.isEmbedded) this.#toggleCompact();
    new Watch(this, model.list, model.summary, model.selected, model.isRevealed, model.maskNames);
    model.selected.subscribe((seq) => {
      if (seq !== null && this.isConnected) this.#reveal(seq);
    });
  }

  override render() {
    const { model } = this.context;
    const { top, layout } = this.#position(this.#size.height);
    this.#layout = layout;
    this.#rendered = top;
    // The anchor stays as long as its row exists, because each new anchor would add an error of rounding.
    if (!this.#anchor || this.#followsEnd || model.core.row(this.#anchor.seq) === null) this.#anchor = layout.anchor;
    const totals = model.totals();
    const selected = model.selected.value;
    const isDrawn = layout.rows.some((row) => row.type === "message" && row.seq === selected);
    return html`
      <pw-list-tools .context=${this.context}></pw-list-tools>
      <div class="rows" role="listbox" tabindex="0" aria-label="Messages" data-count=${layout.count}
        aria-activedescendant=${isDrawn ? `row-${selected}` : nothing} data-revision=${totals.revision}
        @scroll=${this.#scrolled} @keydown=${this.#key} @click=${this.#select} @dblclick=${this.#showDetail}>
        ${layout.count ? nothing : this.#empty(totals)}
        <div class="all" role="presentation" .style=${`height: ${layout.height}px`}>
          ${layout.rows.map((row) => rowTemplate(row, model, selected, this.isCompact))}
        </div>
      </div>
      ${this.#footer(totals)}
    `;
  }

  #empty({ rows }: Totals) {
    return rows
      ? html`<p class="empty" role="option" aria-disabled="true" aria-selected="false">No row matches the filter.</p>`
      : html`<p class="empty" role="option" aria-disabled="true" aria-selected="false">
          No messages yet.${this.context.isEmbedded ? "" : " Connect to a server on the left, open a file, or use a tap in a page of this origin."}
        </p>`;
  }

  #footer({ rows, shown, waiting, textBytes, droppedRows, droppedTexts, lost }: Totals) {
    return html`<footer>
      <span class="figures">${count(shown)} of ${count(rows)} rows, ${bytes(textBytes)}</span>
      ${droppedRows ? html`<span class="warn">${count(droppedRows)} rows dropped</span>` : nothing}
      ${droppedTexts ? html`<span class="warn">${count(droppedTexts)} texts dropped</span>` : nothing}
      ${lost ? html`<span class="warn">${count(lost)} messages not recorded</span>` : nothing}
      ${waiting ? html`<span>${count(waiting)} waiting</span>` : nothing}
      <span class="spacer"></span>
      <pw-list-files .context=${this.context}></pw-list-files>
      <button class="small" aria-pressed=${this.isCompact} title="Rows of one line" @click=${this.#toggleCompact}>Compact</button>
      <button class="small" aria-pressed=${this.#followsEnd} title="Follow the newest message (End)" @click=${this.#follow}>Follow</button>
    </footer>`;
  }

  override updated(): void {
    const rows = this.#scroller;
    if (!rows) return;
    if (Math.abs(rows.scrollTop - this.#rendered) >= 1) rows.scrollTop = this.#rendered;
    this.#expected = rows.scrollTop;
  }

  override focus(): void {
    this.#scroller?.focus();
  }

  focusFilter(): void {
    this.renderRoot.querySelector<HTMLElement>("pw-list-tools")?.focus();
  }

  get #scroller(): HTMLElement | null {
    return this.renderRoot.querySelector(".rows");
  }

  #position(viewport: number): { readonly top: number; readonly layout: Layout } {
    const { core } = this.context.model;
    // The event of a scroll may not have run yet. Without this check, the update would undo the scroll.
    const scrollTop = this.#scroller?.scrollTop ?? this.#expected;
    if (!this.#requested && Math.abs(scrollTop - this.#expected) >= 1) this.#request(scrollTop);
    const requested = this.#requested;
    this.#requested = null;
    if (requested?.revision === core.totals().revision) return requested;
    const end = this.#followsEnd || !this.#anchor ? core.end(viewport) : core.scrollTop(this.#anchor, viewport);
    const top = requested?.top ?? end;
    return { top, layout: core.layout(top, viewport) };
  }

  readonly #scrolled = (event: Event) => {
    const { scrollTop } = event.currentTarget as HTMLElement;
    if (Math.abs(scrollTop - this.#expected) < 1) return;
    this.#moveTo(scrollTop);
  };

  #moveTo(top: number): void {
    this.#request(top);
    this.requestUpdate();
  }

  /** Sets the position of the next update, and stores its anchor. */
  #request(top: number): void {
    const { core } = this.context.model;
    const layout = core.layout(top, this.#size.height);
    this.#anchor = layout.anchor;
    this.#followsEnd = layout.isAtEnd;
    this.#requested = { top, layout, revision: core.totals().revision };
  }

  readonly #follow = () => {
    this.#followsEnd = !this.#followsEnd;
    this.requestUpdate();
  };

  readonly #toggleCompact = () => {
    this.isCompact = !this.isCompact;
    const rowHeight = this.isCompact ? "fixed" : "heuristic";
    this.context.model.configure({ rowHeight, messageHeight: this.isCompact ? COMPACT_HEIGHT : 88 });
  };

  /** Scrolls as far as needed to show a row. */
  #reveal(seq: number): void {
    const viewport = this.#size.height;
    const { core } = this.context.model;
    const row = this.#layout?.rows.find((each) => each.type === "message" && each.seq === seq);
    const above = row ? row.top - this.#rendered : undefined;
    if (row && above !== undefined && above >= 0 && above + row.height <= viewport) {
      // The list must not move away from a row that the user has selected.
      this.#followsEnd &&= core.last() === seq;
      return;
    }
    const align = above === undefined ? 0.5 : above < 0 ? 0 : 1;
    const top = core.reveal(seq, viewport, align);
    if (top !== null) this.#moveTo(top);
    else if (core.row(seq)) this.context.model.notice.set("The filter hides the selected row.");
  }

  readonly #select = (event: Event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-seq]");
    if (row) this.context.model.selected.set(Number(row.dataset.seq));
  };

  readonly #showDetail = () => {
    this.dispatchEvent(new CustomEvent("show-pane", { detail: "detail", bubbles: true, composed: true }));
  };

  readonly #key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { core, selected } = this.context.model;
    const page = Math.max(1, Math.floor(this.#size.height / (this.isCompact ? COMPACT_HEIGHT : 88)) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const step = steps[event.key];
    const from = selected.value ?? this.#anchor?.seq ?? null;
    let next: number | null | undefined;
    if (step !== undefined)
      next = from === null ? core.first() : selected.value === null ? from : core.step(from, step);
    else if (event.key === "Home") next = core.first();
    else if (event.key === "End") next = core.last();
    else if (event.key === "Enter" && selected.value !== null) this.#showDetail();
    else return;
    event.preventDefault();
    if (next !== undefined && next !== null) selected.set(next);
    if (event.key === "End") {
      this.#followsEnd = true;
      this.requestUpdate();
    }
  };
}

customElements.define("pw-message-list", ListPane);
