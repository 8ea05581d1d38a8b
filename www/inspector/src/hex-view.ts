import { css, html, LitElement } from "lit";

/** The height of a row, in pixels. */
const ROW_HEIGHT = 18;
const BYTES_PER_ROW = 16;
/** The largest height of the element, in pixels: Firefox does not show elements that are much higher. */
const MAX_HEIGHT = 15_000_000;

/** Shows bytes in hexadecimal. Only the visible rows are rendered. */
class HexView extends LitElement {
  static override properties = { bytes: { attribute: false }, label: {}, top: { state: true } };

  static override styles = css`
    :host {
      display: block;
      min-height: 0;
    }

    .rows {
      height: 100%;
      overflow: auto;
      font: 12px/${ROW_HEIGHT}px var(--mono);
    }

    .rows:focus-visible {
      outline: 2px solid var(--accent);
      outline-offset: -2px;
    }

    .all {
      position: relative;
      min-width: 72ch;
      overflow: hidden;
    }

    pre {
      position: absolute;
      margin: 0;
      padding: 0 10px;
      font: inherit;
    }
  `;

  declare bytes: Uint8Array;
  declare label: string;
  declare top: number;

  constructor() {
    super();
    this.bytes = new Uint8Array();
    this.label = "Bytes";
    this.top = 0;
  }

  override firstUpdated(): void {
    this.requestUpdate();
  }

  override render() {
    const viewport = this.renderRoot.querySelector(".rows")?.clientHeight ?? 400;
    const count = Math.ceil(this.bytes.length / BYTES_PER_ROW);
    const height = Math.min(MAX_HEIGHT, count * ROW_HEIGHT);
    const scrollable = Math.max(1, height - viewport);
    const first = Math.floor(
      (Math.min(1, this.top / scrollable) * Math.max(0, count * ROW_HEIGHT - viewport)) / ROW_HEIGHT,
    );
    const shown = Math.min(count - first, Math.ceil(viewport / ROW_HEIGHT) + 2);
    const lines = Array.from({ length: Math.max(0, shown) }, (_, index) =>
      line(this.bytes, (first + index) * BYTES_PER_ROW),
    );
    const top = Math.min(this.top, Math.max(0, height - lines.length * ROW_HEIGHT));
    return html`<div class="rows" tabindex="0" role="region" aria-label=${this.label} @scroll=${this.#scrolled}>
      <div class="all" .style=${`height: ${height}px`}><pre .style=${`top: ${top}px`}>${lines.join("\n")}</pre></div>
    </div>`;
  }

  readonly #scrolled = (event: Event) => {
    this.top = (event.currentTarget as HTMLElement).scrollTop;
  };
}

function line(bytes: Uint8Array, at: number): string {
  const part = bytes.subarray(at, at + BYTES_PER_ROW);
  const hex = Array.from(part, (byte) => byte.toString(16).padStart(2, "0"));
  const left = hex.slice(0, 8).join(" ").padEnd(23);
  const right = hex.slice(8).join(" ").padEnd(23);
  const text = Array.from(part, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
  return `${at.toString(16).padStart(8, "0")}  ${left}  ${right}  ${text}`;
}

customElements.define("pw-hex-view", HexView);
