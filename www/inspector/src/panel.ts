import { css, html, LitElement, nothing } from "lit";
import init from "portway-inspector";
import { controls } from "../../src/controls-style";
import { ElementSize, isTyping, PaneSizes } from "../../src/layout";
import { Watch } from "../../src/store";
import { InspectorContext } from "./context";
import "./detail-pane";
import "./list-pane";
import "./strip-pane";
import { paneStyles } from "./styles";
import { tabList } from "./tabs";

const STORAGE_KEY = "portway-inspector-panel";
const DEFAULT_SIZES = { detail: 510, calls: 335 };
const MIN_SIZES = { list: 330, detail: 260, calls: 220 };
/** If the panel is narrower than this number of pixels, one pane is shown at a time. */
const NARROW = 960;
/** The time in milliseconds for which a notice is shown. */
const NOTICE_MS = 4000;

const PANES = ["list", "detail", "calls"] as const;
type Pane = (typeof PANES)[number];
const LABELS: Record<Pane, string> = { list: "List", detail: "Detail", calls: "Calls" };
const ELEMENTS: Record<Pane, string> = { list: "pw-message-list", detail: "pw-detail", calls: "pw-strip" };

/** Loads the core, and returns a context for `<pw-inspector-panel>`. The records enter by `take` of its model. */
export async function startPanel(): Promise<InspectorContext> {
  await init();
  return new InspectorContext({ isEmbedded: true });
}

/**
 * The inspector as a low panel of another page: the messages, the detail and the calls side by side, or one of them in
 * a narrow panel.
 */
class InspectorPanel extends LitElement {
  static override properties = {
    context: { attribute: false },
    pane: { state: true },
  };

  static override styles = [
    controls,
    paneStyles,
    css`
      :host {
        position: relative;
        height: 100%;
        overflow: hidden;
      }

      .panes {
        display: flex;
        flex: 1;
        min-height: 0;
      }

      .panes > * {
        flex: none;
      }

      .panes > pw-message-list,
      .panes.narrow > * {
        flex: 1;
        min-width: 0;
      }

      .notice {
        position: absolute;
        right: 12px;
        bottom: 8px;
        z-index: 3;
        max-width: calc(100% - 24px);
        padding: 4px 10px;
        overflow: hidden;
        color: var(--surface);
        text-overflow: ellipsis;
        white-space: nowrap;
        background: var(--text);
        border-radius: 6px;
        pointer-events: none;
      }

      .notice:empty {
        padding: 0;
      }
    `,
  ];

  declare context: InspectorContext;
  declare pane: Pane;
  readonly #sizes = new PaneSizes(this, STORAGE_KEY, DEFAULT_SIZES);
  readonly #size = new ElementSize(this);
  #isWatching = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.pane = "list";
    this.addEventListener("keydown", (event) => this.#key(event));
    // A pane sends this event when the user wants to see the detail of a message.
    this.addEventListener("show-pane", (event) => this.#show((event as CustomEvent<Pane>).detail));
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { notice } = this.context.model;
    new Watch(this, notice);
    notice.subscribe((text) => {
      clearTimeout(this.#timer);
      if (text) this.#timer = setTimeout(() => notice.set(""), NOTICE_MS);
    });
  }

  override render() {
    const { context } = this;
    const isNarrow = this.#size.width < NARROW;
    const { detail, calls } = this.#fitted();
    const isHidden = (pane: Pane) => isNarrow && this.pane !== pane;
    const width = (size: number) => (isNarrow ? "" : `width: ${size}px`);
    const room = this.#size.width - MIN_SIZES.list;
    const bar = (pane: "detail" | "calls", label: string, value: number, max: number) =>
      isNarrow ? nothing : this.#sizes.bar(pane, label, { value, min: MIN_SIZES[pane], max, reverse: true });
    return html`
      ${isNarrow ? this.#switch() : nothing}
      <div class="panes ${isNarrow ? "narrow" : ""}">
        <pw-message-list role="region" aria-label="List of messages" .context=${context} ?hidden=${isHidden("list")}></pw-message-list>
        ${bar("detail", "Width of the detail", detail, room - calls)}
        <pw-detail role="region" aria-label="Detail" .context=${context} ?hidden=${isHidden("detail")} .style=${width(detail)}></pw-detail>
        ${bar("calls", "Width of the calls", calls, room - detail)}
        <pw-strip role="region" aria-label="Calls" .context=${context} ?hidden=${isHidden("calls")} .style=${width(calls)}></pw-strip>
      </div>
      <div class="notice" role="status">${context.model.notice.value}</div>
    `;
  }

  #switch() {
    return html`<nav class="bar low" aria-label="Panes">${tabList(
      "Panes",
      PANES.map((name) => ({ name, label: LABELS[name] })),
      this.pane,
      (pane) => (this.pane = pane),
    )}</nav>`;
  }

  /** Returns the sizes that the user has chosen, reduced so that all panes fit. */
  #fitted(): typeof DEFAULT_SIZES {
    const { width } = this.#size;
    const calls = Math.min(this.#sizes.value.calls, Math.max(MIN_SIZES.calls, width * 0.3));
    const detail = Math.min(this.#sizes.value.detail, Math.max(MIN_SIZES.detail, width - calls - MIN_SIZES.list));
    return { detail, calls };
  }

  #show(pane: Pane): void {
    this.pane = pane;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(ELEMENTS[pane])?.focus());
  }

  #key(event: KeyboardEvent): void {
    if (event.key !== "/" || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.pane = "list";
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement & { focusFilter(): void }>(ELEMENTS.list)?.focusFilter(),
    );
  }
}

customElements.define("pw-inspector-panel", InspectorPanel);
