import { css, html, LitElement, nothing } from "lit";
import type { Detail, Item } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { ElementSize } from "../../src/layout";
import { Watch } from "../../src/store";
import { nowMicros } from "./clock";
import type { InspectorContext } from "./context";
import { clock, count, duration, visible } from "./format";
import type { Mode } from "./message-view";
import "./message-view";
import { portwayCall, testOf } from "./snippets";
import { paneStyles } from "./styles";
import { tabList } from "./tabs";

const MODES = [
  { name: "tree", label: "Tree" },
  { name: "formatted", label: "Formatted" },
  { name: "exact", label: "Exact" },
  { name: "hex", label: "Hex" },
] as const;

/** The smallest width, in pixels, for a request and its response side by side. */
const SIDE_BY_SIDE = 520;
/** The same width if the inspector is inside another page. There, the pane is low. */
const SIDE_BY_SIDE_EMBEDDED = 360;
/** The maximum number of messages of a batch that are listed. A last row counts the messages that are not listed. */
const MAX_ITEMS = 200;

/** Shows the selected message with its other half: the response of a request, or the request of a response. */
class DetailPane extends LitElement {
  static override properties = {
    context: { attribute: false },
    mode: { state: true },
  };

  static override styles = [
    controls,
    paneStyles,
    css`
      .between {
        display: flex;
        flex: none;
        flex-wrap: wrap;
        gap: 6px;
        align-items: center;
        padding: 5px 8px;
        font-size: 12px;
        border-bottom: 1px solid var(--line);
      }

      /* Inside another page, the pane is low. The commands are beside the tabs. */
      .top.low {
        display: flex;
        flex: none;
        flex-wrap: wrap;
        align-items: center;
        background: var(--raised);
        border-bottom: 1px solid var(--line);
      }

      .top.low > * {
        padding-block: 0;
        border-bottom: 0;
      }

      .top.low > .between {
        flex: 1;
        gap: 4px;
        min-height: 30px;
        padding: 0 4px;
        white-space: nowrap;
      }

      .top.low select {
        width: 64px;
      }

      .halves {
        display: flex;
        flex: 1;
        min-height: 0;
      }

      .halves.stacked {
        flex-direction: column;
      }

      pw-message-view {
        flex: 1 1 0;
        min-width: 0;
        min-height: 0;
      }

      .halves:not(.stacked) > * + * {
        border-left: 1px solid var(--line);
      }

      .halves.stacked > * + * {
        border-top: 1px solid var(--line-strong);
      }

      .open {
        flex: 1 1 0;
      }

      .items {
        flex: none;
        max-height: 34%;
        overflow: auto;
        border-bottom: 1px solid var(--line);
      }

      button.small {
        border-color: var(--line);
      }

      select {
        min-height: 24px;
        max-width: 90px;
        font-size: 12px;
      }
    `,
  ];

  declare context: InspectorContext;
  declare mode: Mode;
  readonly #size = new ElementSize(this);
  #isWatching = false;

  constructor() {
    super();
    this.mode = "tree";
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model } = this.context;
    new Watch(this, model.selected, model.summary, model.isRevealed, model.maskNames);
  }

  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus();
  }

  override render() {
    const { model, isEmbedded } = this.context;
    const seq = model.selected.value;
    const detail = seq === null ? null : model.core.detail(seq);
    return html`
      <div class="top ${isEmbedded ? "low" : ""}">
        <div class="bar ${isEmbedded ? "low" : ""}">
          ${tabList("Form of the text", MODES, this.mode, (mode) => (this.mode = mode))}
        </div>
        ${detail ? this.#between(detail) : nothing}
      </div>
      ${detail ? this.#detail(detail) : html`<p class="empty">Select a message to see it here, with its other half.</p>`}
    `;
  }

  #between(detail: Detail) {
    const { isEmbedded } = this.context;
    const { request, response } = halvesOf(detail);
    const isPair = request !== null && response !== null;
    const isOpen = detail.calls === "pending" && response === null;
    return html`
      <div class="between">
        ${isPair && detail.elapsed !== null ? html`<span>answered after <b>${duration(detail.elapsed)}</b></span>` : nothing}
        ${isOpen ? html`<span class="warn">pending for <b>${duration(Math.max(0, nowMicros() - detail.at))}</b></span>` : nothing}
        ${detail.calls === "ended" ? html`<span class="error">the link closed before the response</span>` : nothing}
        ${detail.partner === null || isEmbedded ? nothing : html`<button class="small" title="Select the other half" @click=${() => this.#select(detail.partner)}>Other half</button>`}
        ${this.#earlier(detail)}
        <span class="spacer"></span>
        ${this.#commands(request, response, detail)}
      </div>
    `;
  }

  #detail(detail: Detail) {
    const { request, response } = halvesOf(detail);
    const isStacked = this.#size.width < (this.context.isEmbedded ? SIDE_BY_SIDE_EMBEDDED : SIDE_BY_SIDE);
    return html`
      ${detail.batch.length ? this.#items(detail.batch, detail.items) : nothing}
      <div class="halves ${isStacked ? "stacked" : ""}">
        ${request === null && response === null ? this.#half(detail.seq, "") : nothing}
        ${request === null ? nothing : this.#half(request, detail.kind === "batch" ? "batch" : "request")}
        ${response === null ? nothing : this.#half(response, detail.kind === "batch" ? "batch of responses" : "response")}
      </div>
    `;
  }

  #half(seq: number, heading: string) {
    return html`<pw-message-view .context=${this.context} .seq=${seq} .mode=${this.mode} heading=${heading}></pw-message-view>`;
  }

  #earlier({ earlier, seq }: Detail) {
    if (!earlier.length) return nothing;
    const { core } = this.context.model;
    const select = (event: Event) => {
      const element = event.target as HTMLSelectElement;
      const chosen = Number(element.value);
      element.value = "";
      this.#select(chosen);
    };
    return html`<select aria-label="Earlier calls of this method" data-seq=${seq} @change=${select}>
      <option value="">${earlier.length} earlier</option>
      ${earlier.map((each) => {
        const row = core.row(each);
        return row
          ? html`<option value=${each}>${clock(row.at)} ${row.elapsed === null ? row.calls : duration(row.elapsed)}</option>`
          : nothing;
      })}
    </select>`;
  }

  #commands(request: number | null, response: number | null, detail: Detail) {
    const { model, connections, isEmbedded } = this.context;
    const seq = request ?? (detail.kind === "notification" || detail.kind === "batch" ? detail.seq : null);
    const text = model.textOf(seq ?? detail.seq);
    if (text === undefined) return nothing;
    const address = model.addressOf(detail.link);
    const copy = (event: Event) => {
      const element = event.target as HTMLSelectElement;
      const answer = response === null ? undefined : model.textOf(response);
      const copies: Record<string, string | undefined> = {
        json: model.shown(model.textOf(detail.seq) ?? text),
        call: portwayCall(model.shown(text), address),
        test: testOf(model.shown(text), answer === undefined ? undefined : model.shown(answer), address),
      };
      const copied = copies[element.value];
      element.value = "";
      if (copied !== undefined) void this.#copy(copied);
    };
    return html`
      ${
        seq === null || isEmbedded
          ? nothing
          : html`
        <button class="small" ?disabled=${!connections.targetLink} title="Send this text again over the connection of the composer" @click=${() => this.#resend(text)}>Send again</button>
        <button class="small" title="Copy this text to the composer" @click=${() => this.#edit(text)}>Edit</button>`
      }
      <select aria-label="Copy" @change=${copy}>
        <option value="">Copy</option>
        <option value="json">as JSON</option>
        ${seq === null || detail.kind === "batch" ? nothing : html`<option value="call">as portway call</option>`}
        ${request === null || detail.kind === "batch" ? nothing : html`<option value="test">as a test</option>`}
      </select>
    `;
  }

  #items(items: readonly Item[], total: number) {
    return html`<div class="items" tabindex="0" role="region" aria-label="Messages of the batch"><table>
      <thead><tr><th>#</th><th>Kind</th><th>Method</th><th>ID</th><th>State</th><th></th></tr></thead>
      <tbody>${items.slice(0, MAX_ITEMS).map(
        (item, index) => html`<tr>
          <td class="number">${index}</td>
          <td>${item.kind}</td>
          <td class="mono">${item.method === null ? "" : visible(item.method)}</td>
          <td class="mono">${item.id === null ? "" : visible(item.id)}</td>
          <td>${stateOf(item)}</td>
          <td>${item.partner === null ? nothing : html`<button class="small" aria-label="Other half of message ${index}" @click=${() => this.#select(item.partner)}>Other half</button>`}</td>
        </tr>`,
      )}
      ${total > MAX_ITEMS ? html`<tr><td class="muted" colspan="6">${count(total - MAX_ITEMS)} more</td></tr>` : nothing}</tbody>
    </table></div>`;
  }

  #select(seq: number | null): void {
    if (seq !== null) this.context.model.selected.set(seq);
  }

  #resend(text: string): void {
    try {
      this.context.connections.send(text);
    } catch (error) {
      this.context.model.notice.set(error instanceof Error ? error.message : String(error));
    }
  }

  #edit(text: string): void {
    this.context.connections.draft.set(text);
    this.dispatchEvent(new CustomEvent("show-pane", { detail: "links", bubbles: true, composed: true }));
  }

  async #copy(text: string): Promise<void> {
    const { notice } = this.context.model;
    try {
      await navigator.clipboard.writeText(text);
      notice.set("copied");
    } catch (error) {
      notice.set(`the browser refused the clipboard: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** Returns the rows of the request and of the response. One of them is selected. */
function halvesOf({ seq, kind, calls, partner, unmatched }: Detail): {
  request: number | null;
  response: number | null;
} {
  if (kind === "request") return { request: seq, response: partner };
  if (kind === "result" || kind === "error") return { request: partner, response: seq };
  if (kind === "batch" && calls !== "none") return { request: seq, response: partner };
  if (kind === "batch" && (partner !== null || unmatched)) return { request: partner, response: seq };
  return { request: null, response: null };
}

function stateOf({ calls, unmatched, code, elapsed }: Item): string {
  if (unmatched) return "no call waited";
  if (code !== null) return `error ${code}`;
  if (calls === "answered" && elapsed !== null) return `answered after ${duration(elapsed)}`;
  return calls === "none" ? "" : calls === "ended" ? "no response" : calls;
}

customElements.define("pw-detail", DetailPane);
