import { css, html, LitElement, nothing } from "lit";
import { type Detail, type Fault, type Finding, findings } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { Watch } from "../../src/store";
import "./code-view";
import type { InspectorContext } from "./context";
import { bytes, dateAndClock, plural, visible } from "./format";
import "./hex-view";
import { Formatter } from "./json-text";
import "./json-tree";
import { nextTask } from "./next-task";
import { paneStyles } from "./styles";

export type Mode = "tree" | "formatted" | "exact" | "hex";

/** The time in milliseconds that the formatter may take in one turn. */
const SLICE_MS = 12;
/** A text of at least this length, in UTF-16 units, is masked in one turn, and validated in another. */
const LONG = 500_000;
/** The maximum number of findings that are listed. A last line counts the findings that are not listed. */
const MAX_FINDINGS = 50;

/** A text of a message, and its form on the page. */
interface Shown {
  readonly text: string;
  /** The names of secrets, or null if secrets are shown. */
  readonly masks: readonly string[] | null;
  /** The text as it is shown, or undefined until it is masked. */
  shown: string | undefined;
}

/** One message: its head, its faults, and its text in one of four forms. */
class MessageView extends LitElement {
  static override properties = {
    context: { attribute: false },
    seq: { type: Number },
    mode: {},
    heading: {},
    formatted: { state: true },
  };

  static override styles = [
    controls,
    paneStyles,
    css`
      header {
        flex: none;
        padding: 6px 10px;
        border-bottom: 1px solid var(--line);
      }

      .title {
        display: flex;
        gap: 8px;
        align-items: baseline;
      }

      h2 {
        font-size: 12px;
        color: var(--muted);
      }

      .title .mono {
        min-width: 0;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      .facts {
        font-size: 12px;
        color: var(--muted);
      }

      ul {
        flex: none;
        max-height: 30%;
        padding: 4px 10px;
        margin: 0;
        overflow: auto;
        list-style: none;
        border-bottom: 1px solid var(--line);
      }

      li {
        padding: 2px 0;
        overflow-wrap: anywhere;
      }

      li .badge {
        margin-right: 4px;
      }

      .content {
        flex: 1;
        min-height: 60px;
      }

      button.link {
        min-height: 0;
        padding: 0 2px;
        color: var(--accent);
        text-decoration: underline;
      }
    `,
  ];

  declare context: InspectorContext;
  declare seq: number;
  declare mode: Mode;
  declare heading: string;
  /** The formatted lines, or undefined until the formatter has ended. */
  declare formatted: readonly string[] | undefined;
  #isWatching = false;
  #formattedText = "";
  #findingsOf: { text: string; found: readonly Finding[] } = { text: "", found: [] };
  #shownOf: Shown | undefined;
  #bytesOf: { text: string; bytes: Uint8Array } = { text: "", bytes: new Uint8Array() };

  constructor() {
    super();
    this.seq = 0;
    this.mode = "tree";
    this.heading = "";
    this.formatted = undefined;
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model } = this.context;
    new Watch(this, model.summary, model.isRevealed, model.maskNames);
  }

  override render() {
    const { model } = this.context;
    const detail = model.core.detail(this.seq);
    if (!detail) return html`<p class="empty">This message has left the history.</p>`;
    const record = model.recordOf(this.seq);
    const link = model.linkNames()[detail.link] ?? record?.link ?? "";
    return html`
      <header>
        <div class="title">
          <h2>${this.heading || detail.kind}</h2>
          <span class="mono">${detail.method === null ? "" : visible(detail.method)} ${detail.id === null ? "" : visible(detail.id)}</span>
          ${detail.code === null ? nothing : html`<span class="badge ${detail.kind === "error" ? "error" : ""}">${detail.code} ${detail.codeName ?? ""}</span>`}
        </div>
        <div class="facts">${[
          dateAndClock(detail.at),
          detail.direction,
          visible(link),
          detail.size === null ? "" : bytes(detail.size),
          record?.form === "value" ? "a structured clone" : "",
          record?.group === undefined ? "" : `group ${record.group}`,
          record?.transfer ? plural(record.transfer, "transferred object") : "",
          record?.omitted ? `${plural(record.omitted, "character")} missing at the end` : "",
        ]
          .filter(Boolean)
          .join(" · ")}</div>
      </header>
      ${this.#faults(detail, record?.reason)}
      ${this.#content(detail)}
    `;
  }

  #faults(detail: Detail, reason: string | undefined) {
    const text = this.context.model.textOf(this.seq);
    const found = text === undefined ? [] : this.#findings(text);
    const all: (Fault | Finding)[] = [...detail.faults, ...found];
    if (!all.length && !reason) return nothing;
    return html`<ul aria-label="Faults of this message">
      ${reason ? html`<li><span class="badge">${detail.kind === "close" ? "reason" : "tap"}</span>${visible(reason)}</li>` : nothing}
      ${all.slice(0, MAX_FINDINGS).map(
        (
          fault,
        ) => html`<li><span class="badge ${fault.severity === "error" ? "error" : "warn"}">${fault.severity}</span>${visible(fault.text)}
          ${"seq" in fault && fault.seq !== null ? html`<button class="link" @click=${() => this.context.model.selected.set(fault.seq)}>show</button>` : nothing}</li>`,
      )}
      ${all.length > MAX_FINDINGS ? html`<li class="muted">${all.length - MAX_FINDINGS} more</li>` : nothing}
    </ul>`;
  }

  #findings(text: string): readonly Finding[] {
    const { direction, isCut } = this.context.model.core.row(this.seq) ?? {};
    if (!direction || isCut) return [];
    if (this.#findingsOf.text === text) return this.#findingsOf.found;
    this.#findingsOf = { text, found: [] };
    const find = () => {
      if (this.#findingsOf.text === text) this.#findingsOf = { text, found: findings(text) };
    };
    if (text.length < LONG) find();
    else this.#later(find);
    return this.#findingsOf.found;
  }

  /** Runs a long task in a separate turn, so that no turn has two long tasks. Renders again afterwards. */
  #later(run: () => void): void {
    requestAnimationFrame(() =>
      setTimeout(() => {
        run();
        this.requestUpdate();
      }),
    );
  }

  #content(detail: Detail) {
    const { model } = this.context;
    const record = model.recordOf(this.seq);
    const label = `${this.heading || detail.kind}, ${this.mode}`;
    if (record?.base64 !== undefined)
      return html`<pw-hex-view class="content" label=${label} .bytes=${this.#decoded(record.base64)}></pw-hex-view>`;
    if (record?.text === undefined) {
      if (!detail.direction || detail.kind === "gap") return nothing;
      return html`<p class="empty">The text has left the history, because the history is full.</p>`;
    }
    const text = this.#shown(record.text);
    if (text === undefined) return html`<p class="empty">Reading …</p>`;
    switch (this.mode) {
      case "tree":
        return html`<pw-json-tree class="content" label=${label} .text=${text}></pw-json-tree>`;
      case "formatted":
        this.#format(text);
        return this.formatted
          ? html`<pw-code-view class="content" json label=${label} .lines=${this.formatted}></pw-code-view>`
          : html`<p class="empty">Formatting …</p>`;
      case "exact":
        return html`<pw-code-view class="content" label=${label} .lines=${exactLines(text)}></pw-code-view>`;
      case "hex":
        return html`<pw-hex-view class="content" label=${label} .bytes=${this.#encoded(text)}></pw-hex-view>`;
    }
  }

  /** Returns the text as it is shown. The last text is stored, because a long text takes time to mask. */
  #shown(text: string): string | undefined {
    const { model } = this.context;
    const masks = model.isRevealed.value ? null : model.maskNames.value;
    const known = this.#shownOf;
    if (known?.text === text && known.masks === masks) return known.shown;
    const next: Shown = { text, masks, shown: undefined };
    this.#shownOf = next;
    const show = () => {
      if (this.#shownOf === next) next.shown = model.shown(text);
    };
    if (text.length < LONG) show();
    else this.#later(show);
    return next.shown;
  }

  /** Formats a text in slices. */
  #format(text: string): void {
    if (text === this.#formattedText) return;
    this.#formattedText = text;
    this.formatted = undefined;
    const formatter = new Formatter(text);
    const run = () => {
      if (this.#formattedText !== text) return;
      if (formatter.run(performance.now() + SLICE_MS)) this.formatted = formatter.lines;
      else nextTask(run);
    };
    run();
  }

  #encoded(text: string): Uint8Array {
    if (this.#bytesOf.text !== text) this.#bytesOf = { text, bytes: new TextEncoder().encode(text) };
    return this.#bytesOf.bytes;
  }

  #decoded(base64: string): Uint8Array {
    if (this.#bytesOf.text !== base64) this.#bytesOf = { text: base64, bytes: fromBase64(base64) };
    return this.#bytesOf.bytes;
  }
}

/**
 * The lines of the last two exact texts, because two messages are shown at a time. With the same lines, an update of
 * the pane does not build the editor again.
 */
let lastExact: { text: string; lines: readonly string[] }[] = [];

function exactLines(text: string): readonly string[] {
  const known = lastExact.find((each) => each.text === text);
  if (known) return known.lines;
  const lines = text.split(/\r\n|\r|\n/);
  lastExact = [{ text, lines }, ...lastExact.slice(0, 1)];
  return lines;
}

function fromBase64(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new TextEncoder().encode(base64);
  }
}

customElements.define("pw-message-view", MessageView);
