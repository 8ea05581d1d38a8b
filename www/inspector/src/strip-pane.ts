import { css, html, LitElement, nothing } from "lit";
import type { PendingCall } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { Watch } from "../../src/store";
import { nowMicros } from "./clock";
import type { InspectorContext } from "./context";
import { bytes, clock, count, duration, visible } from "./format";
import "./links-pane";
import "./sequence-diagram";
import { paneStyles } from "./styles";
import { tabList } from "./tabs";

type View = "pending" | "unmatched" | "methods" | "sequence" | "links";

/** The maximum number of rows of a table. A last row counts the rows that are not shown. */
const MAX_ROWS = 200;
/** The maximum number of responses that are counted for this last row. */
const MAX_COUNTED = 10_000;
/** A pending call is shown as old after this time, in microseconds. */
const OLD = 10_000_000;

/**
 * Pending calls, responses that no call waited for, the figures of each method, and a sequence diagram. Inside another
 * page, the links are here, too.
 */
class StripPane extends LitElement {
  static override properties = { context: { attribute: false }, view: { state: true } };

  static override styles = [
    controls,
    paneStyles,
    css`
      table {
        width: auto;
        min-width: min(100%, 720px);
      }

      .bar {
        overflow-x: auto;
        overflow-y: hidden;
        scrollbar-width: none;
      }

      tbody tr:hover {
        background: var(--hover);
      }

      button.row {
        justify-content: flex-start;
        min-height: 22px;
        padding: 0 4px;
        margin-left: -4px;
        font: 600 12px/1 var(--mono);
        max-width: 40ch;
        overflow: hidden;
        text-overflow: ellipsis;
      }

      .old {
        color: var(--error);
        font-weight: 600;
      }

      pw-sequence,
      pw-links {
        flex: 1;
        min-height: 0;
      }
    `,
  ];

  declare context: InspectorContext;
  declare view: View;
  #isWatching = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.view = "pending";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // The ages of pending calls change without a new message.
    this.#timer = setInterval(() => {
      if (this.view === "pending" && !document.hidden && this.context?.model.totals().pending) this.requestUpdate();
    }, 500);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    new Watch(this, this.context.model.summary, this.context.model.filter);
  }

  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus();
  }

  override render() {
    const { model, isEmbedded } = this.context;
    const { pending, unmatched } = model.totals();
    // The tabs of a panel have no room for zeros.
    const countOf = (number: number) => (isEmbedded && number === 0 ? undefined : number);
    return html`
      <div class="bar ${isEmbedded ? "low" : ""}">
        ${tabList(
          "Calls",
          [
            { name: "pending", label: isEmbedded ? "Pending" : "Pending calls", count: countOf(pending) },
            {
              name: "unmatched",
              label: isEmbedded ? "Unmatched" : "Unmatched responses",
              count: countOf(unmatched),
              isFault: true,
            },
            { name: "methods", label: "Methods" },
            { name: "sequence", label: "Sequence" },
            ...(isEmbedded ? [{ name: "links", label: "Links" } as const] : []),
          ],
          this.view,
          (view) => (this.view = view),
        )}
      </div>
      ${this.#content()}
    `;
  }

  #content() {
    switch (this.view) {
      case "pending":
        return this.#pending();
      case "unmatched":
        return this.#unmatched();
      case "methods":
        return this.#methods();
      case "sequence":
        return html`<pw-sequence .context=${this.context}></pw-sequence>`;
      case "links":
        return html`<pw-links .context=${this.context}></pw-links>`;
    }
  }

  #pending() {
    const { core } = this.context.model;
    const calls = core.pending(nowMicros(), MAX_ROWS);
    if (!calls.length) return html`<p class="empty">No call is pending.</p>`;
    return this.#table(
      "Pending calls, oldest first",
      ["Age", "Method", "ID", "Direction", "Link", "Since"],
      html`${calls.map((call) => this.#call(call))}
      ${more(core.totals().pending - calls.length)}`,
    );
  }

  #call({ seq, item, link, direction, method, id, at, age }: PendingCall) {
    return html`<tr>
      <td class="number ${age > OLD ? "old" : ""}">${duration(age)}</td>
      <td>${this.#row(seq, item === null ? method : `${method} (message ${item} of a batch)`)}</td>
      <td class="mono">${visible(id)}</td>
      <td>${direction}</td>
      <td>${visible(this.context.model.linkNames()[link] ?? "")}</td>
      <td class="number">${clock(at)}</td>
    </tr>`;
  }

  #unmatched() {
    const { model } = this.context;
    const rows = model.core.unmatched(MAX_ROWS);
    if (!rows.length) return html`<p class="empty">A call waited for each response.</p>`;
    return this.#table(
      "Responses that no call waited for, newest first",
      ["Time", "Kind", "ID", "Direction", "Link"],
      html`${rows.map(
        (row) => html`<tr>
          <td>${clock(row.at)}</td>
          <td>${this.#row(row.seq, row.kind)}</td>
          <td class="mono">${row.id === null ? "" : visible(row.id)}</td>
          <td>${row.direction}</td>
          <td>${visible(model.linkNames()[row.link] ?? "")}</td>
        </tr>`,
      )}
      ${rows.length === MAX_ROWS ? more(model.core.unmatched(MAX_COUNTED).length - MAX_ROWS) : nothing}`,
    );
  }

  #methods() {
    const { core, filter } = this.context.model;
    const { links } = filter.value;
    const methods = core.statistics(links.length === 1 ? links[0] : null);
    if (!methods.length) return html`<p class="empty">No method was called.</p>`;
    return this.#table(
      "Methods",
      [
        "Method",
        "Calls",
        "Notifications",
        "Errors",
        "Pending",
        "No response",
        "Median",
        "95th percentile",
        "Longest",
        "Bytes",
      ],
      html`${methods.slice(0, MAX_ROWS).map(
        (each) => html`<tr>
          <td class="mono">${each.method === null ? "other methods" : visible(each.method)}</td>
          ${[each.calls, each.notifications].map((number) => html`<td class="number">${count(number)}</td>`)}
          <td class="number ${each.errors ? "error" : ""}">${count(each.errors)}</td>
          ${[each.pending, each.ended].map((number) => html`<td class="number">${count(number)}</td>`)}
          ${[each.median, each.p95, each.longest].map((time) => html`<td class="number">${duration(time)}</td>`)}
          <td class="number">${bytes(each.bytes)}</td>
        </tr>`,
      )}
      ${more(methods.length - MAX_ROWS)}`,
    );
  }

  #table(label: string, heads: readonly string[], rows: unknown) {
    const numbers = [
      "Age",
      "Calls",
      "Notifications",
      "Errors",
      "Pending",
      "No response",
      "Median",
      "95th percentile",
      "Longest",
      "Bytes",
      "Since",
    ];
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table aria-label=${label}>
      <thead><tr>${heads.map((head) => html`<th scope="col" class=${numbers.includes(head) ? "number" : ""}>${head}</th>`)}</tr></thead>
      <tbody>${rows}</tbody>
    </table></div>`;
  }

  #row(seq: number, text: string) {
    return html`<button class="row" title="Show this message" @click=${() => this.context.model.selected.set(seq)}>${visible(text)}</button>`;
  }
}

/** Returns the last row of a table that does not have all rows. */
function more(rest: number) {
  return rest > 0 ? html`<tr><td class="muted" colspan="10">${count(rest)} more</td></tr>` : nothing;
}

customElements.define("pw-strip", StripPane);
