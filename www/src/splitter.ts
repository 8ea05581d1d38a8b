import { css, html, LitElement } from "lit";

/**
 * A bar that changes the size of the pane before or after it. The user moves the bar with the pointer or the arrow
 * keys. The bar then sends the event `resize` with the requested size, and the layout sets the size of the pane.
 */
class Splitter extends LitElement {
  static override properties = {
    orientation: { reflect: true },
    label: {},
    value: { type: Number },
    min: { type: Number },
    max: { type: Number },
    reverse: { type: Boolean },
  };

  static override styles = css`
    :host {
      position: relative;
      z-index: 2;
      flex: none;
      background: var(--line);
      touch-action: none;
    }

    :host([orientation="vertical"]) {
      width: 1px;
      cursor: col-resize;
    }

    :host([orientation="horizontal"]) {
      height: 1px;
      cursor: row-resize;
    }

    /* This area is wider than the visible line, so that the pointer can reach it easily. */
    [role="separator"] {
      position: absolute;
      inset: -3px;
    }

    [role="separator"]::after {
      content: "";
      position: absolute;
      inset: 2px;
    }

    [role="separator"]:focus-visible {
      outline: none;
    }

    [role="separator"]:hover::after,
    [role="separator"]:focus-visible::after {
      background: var(--accent);
    }
  `;

  declare orientation: "vertical" | "horizontal";
  declare label: string;
  declare value: number;
  declare min: number;
  declare max: number;
  /** Whether the bar changes the pane after the bar. That pane grows when the bar moves to the left or up. */
  declare reverse: boolean;

  constructor() {
    super();
    this.orientation = "vertical";
    this.label = "";
    this.value = 0;
    this.min = 0;
    this.max = 0;
    this.reverse = false;
  }

  override render() {
    return html`<div
      role="separator"
      tabindex="0"
      aria-label=${this.label}
      aria-orientation=${this.orientation}
      aria-valuenow=${Math.round(this.value)}
      aria-valuemin=${this.min}
      aria-valuemax=${Math.round(this.max)}
      @pointerdown=${this.#drag}
      @keydown=${this.#step}
    ></div>`;
  }

  readonly #drag = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement;
    const [start, before] = [this.#position(event), this.value];
    const move = (moved: PointerEvent) => {
      const distance = this.#position(moved) - start;
      this.#request(before + (this.reverse ? -distance : distance));
    };
    bar.setPointerCapture(event.pointerId);
    bar.addEventListener("pointermove", move);
    bar.addEventListener("lostpointercapture", () => bar.removeEventListener("pointermove", move), { once: true });
  };

  readonly #step = (event: KeyboardEvent) => {
    const [less, more] = this.orientation === "vertical" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const sign = this.reverse ? -1 : 1;
    if (event.key === less) this.#request(this.value - sign * 16);
    else if (event.key === more) this.#request(this.value + sign * 16);
    else if (event.key === "Home") this.#request(this.min);
    else if (event.key === "End") this.#request(this.max);
    else return;
    event.preventDefault();
  };

  #position(event: PointerEvent): number {
    return this.orientation === "vertical" ? event.clientX : event.clientY;
  }

  #request(size: number): void {
    const detail = Math.min(this.max, Math.max(this.min, size));
    this.dispatchEvent(new CustomEvent<number>("resize", { detail }));
  }
}

customElements.define("pw-splitter", Splitter);
