import { css, html, LitElement, nothing } from "lit";
import init from "portway-inspector";
import { controls } from "../../src/controls-style";
import "../../src/splitter";
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
/** Below this width, one pane is shown at a time. */
const NARROW = 960;
/** The time for which a notice is shown. */
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
    sizes: { state: true },
    pane: { state: true },
    width: { state: true },
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
  declare sizes: typeof DEFAULT_SIZES;
  declare pane: Pane;
  declare width: number;
  #isWatching = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #observer = new ResizeObserver(([entry]) => {
    // A hidden panel has no width. It keeps its layout.
    if (entry?.contentRect.width) this.width = entry.contentRect.width;
  });

  constructor() {
    super();
    this.sizes = { ...DEFAULT_SIZES, ...savedSizes() };
    this.pane = "list";
    this.width = innerWidth;
    this.addEventListener("keydown", (event) => this.#key(event));
    // The user wants to see the detail of a message.
    this.addEventListener("show-pane", (event) => this.#show((event as CustomEvent<Pane>).detail));
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#observer.observe(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#observer.disconnect();
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
    const isNarrow = this.width < NARROW;
    const { detail, calls } = this.#fitted();
    const isHidden = (pane: Pane) => isNarrow && this.pane !== pane;
    const width = (size: number) => (isNarrow ? "" : `width: ${size}px`);
    const room = this.width - MIN_SIZES.list;
    return html`
      ${isNarrow ? this.#switch() : nothing}
      <div class="panes ${isNarrow ? "narrow" : ""}">
        <pw-message-list role="region" aria-label="List of messages" .context=${context} ?hidden=${isHidden("list")}></pw-message-list>
        ${isNarrow ? nothing : this.#splitter("detail", "Width of the detail", detail, room - calls)}
        <pw-detail role="region" aria-label="Detail" .context=${context} ?hidden=${isHidden("detail")} .style=${width(detail)}></pw-detail>
        ${isNarrow ? nothing : this.#splitter("calls", "Width of the calls", calls, room - detail)}
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

  #splitter(pane: keyof typeof DEFAULT_SIZES, label: string, value: number, max: number) {
    const resize = ({ detail }: CustomEvent<number>) => {
      this.sizes = { ...this.sizes, [pane]: detail };
      localStorage.setItem(STORAGE_KEY, JSON.stringify(this.sizes));
    };
    return html`<pw-splitter orientation="vertical" label=${label} .value=${value} .min=${MIN_SIZES[pane]}
      .max=${Math.max(MIN_SIZES[pane], max)} reverse @resize=${resize}></pw-splitter>`;
  }

  /** Returns the sizes that the user has chosen, reduced so that all panes fit. */
  #fitted(): typeof DEFAULT_SIZES {
    const calls = Math.min(this.sizes.calls, Math.max(MIN_SIZES.calls, this.width * 0.3));
    const detail = Math.min(this.sizes.detail, Math.max(MIN_SIZES.detail, this.width - calls - MIN_SIZES.list));
    return { detail, calls };
  }

  #show(pane: Pane): void {
    this.pane = pane;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(ELEMENTS[pane])?.focus());
  }

  #key(event: KeyboardEvent): void {
    const isTyping = event.composedPath().some((target) => target instanceof HTMLElement && isEditable(target));
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.pane = "list";
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement & { focusFilter(): void }>(ELEMENTS.list)?.focusFilter(),
    );
  }
}

function isEditable(element: HTMLElement): boolean {
  return element.matches("input, textarea, select") || element.isContentEditable;
}

function savedSizes(): Partial<typeof DEFAULT_SIZES> {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}") as Partial<typeof DEFAULT_SIZES>;
  } catch {
    return {};
  }
}

customElements.define("pw-inspector-panel", InspectorPanel);
