import { css, html, LitElement, nothing } from "lit";
import { controls } from "../../src/controls-style";
import * as icons from "../../src/icons";
import { ElementSize, isTyping, nextPane, PaneSizes } from "../../src/layout";
import { Watch } from "../../src/store";
import { theme, toggleTheme } from "../../src/theme";
import type { CommandPhase, CommandState } from "./command-source";
import type { InspectorContext } from "./context";
import "./detail-pane";
import "./links-pane";
import "./list-pane";
import { importFrom } from "./open-file";
import "./strip-pane";
import { paneStyles } from "./styles";
import { tabList } from "./tabs";

const STORAGE_KEY = "portway-inspector-layout";
const DEFAULT_SIZES = { links: 290, detail: 600, strip: 190 };
const MIN_SIZES = { links: 220, list: 320, detail: 280, strip: 90, work: 200 };
/** The height of the header, in pixels. */
const HEADER = 46;
/** If the window is narrower than this number of pixels, one pane is shown at a time. */
const NARROW = 900;

const PANES = ["links", "list", "detail", "strip"] as const;
type Pane = (typeof PANES)[number];
const PHASES: Record<CommandPhase, string> = {
  connecting: "connecting",
  live: "connected",
  ended: "has ended",
  lost: "connection lost",
};
const LABELS: Record<Pane, string> = { links: "Links", list: "Messages", detail: "Detail", strip: "Calls" };

const ELEMENTS: Record<Pane, string> = {
  links: "pw-links",
  list: "pw-message-list",
  detail: "pw-detail",
  strip: "pw-strip",
};

/** The layout of the inspector: three panes and a strip, or one of them in a narrow window. */
class InspectorView extends LitElement {
  static override properties = {
    context: { attribute: false },
    pane: { state: true },
  };

  static override styles = [
    controls,
    paneStyles,
    css`
      :host {
        display: flex;
        flex-direction: column;
        height: 100vh;
        height: 100dvh;
        overflow: hidden;
        background: var(--bg);
      }

      header {
        display: flex;
        flex: none;
        align-items: center;
        gap: 8px;
        height: 46px;
        padding: 0 12px;
        background: var(--surface);
        border-bottom: 1px solid var(--line);
      }

      h1 {
        margin: 0 4px 0 2px;
        font-size: 15px;
        font-weight: 650;
        letter-spacing: -0.01em;
        white-space: nowrap;
      }

      h1 span {
        font-weight: 400;
        color: var(--muted);
      }

      main {
        display: flex;
        flex: 1;
        flex-direction: column;
        min-height: 0;
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
      main.narrow > .panes > *,
      main.narrow > pw-strip {
        flex: 1;
        min-width: 0;
      }

      .notice {
        flex: 0 1 auto;
        min-width: 0;
        overflow: hidden;
        color: var(--muted);
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      .command {
        display: flex;
        flex: none;
        gap: 6px;
        align-items: center;
        white-space: nowrap;
      }

      .command::before {
        width: 8px;
        height: 8px;
        content: "";
        background: var(--warn);
        border-radius: 50%;
      }

      .command[data-phase="live"]::before {
        background: var(--ok);
      }

      .command:is([data-phase="ended"], [data-phase="lost"])::before {
        background: var(--error);
      }

      .bar.switch {
        background: var(--surface);
      }

      .drop {
        position: fixed;
        inset: 12px;
        z-index: 10;
        display: grid;
        place-items: center;
        font-size: 16px;
        color: var(--accent);
        background: color-mix(in srgb, var(--surface) 88%, transparent);
        border: 2px dashed var(--accent);
        border-radius: 12px;
        pointer-events: none;
      }
    `,
  ];

  declare context: InspectorContext | undefined;
  declare pane: Pane;
  readonly #sizes = new PaneSizes(this, STORAGE_KEY, DEFAULT_SIZES);
  readonly #size = new ElementSize(this);
  #isWatching = false;
  #isDropTarget = false;

  constructor() {
    super();
    this.pane = "list";
    new Watch(this, theme);
    this.addEventListener("keydown", (event) => this.#key(event));
    this.addEventListener("dragover", (event) => this.#drag(event, true));
    this.addEventListener("dragleave", (event) => this.#drag(event, false));
    this.addEventListener("drop", (event) => this.#drop(event));
    // A pane sends this event when the user wants to see the detail of a message, or to edit a message in the composer.
    this.addEventListener("show-pane", (event) => this.#show((event as CustomEvent<Pane>).detail));
  }

  override willUpdate(): void {
    if (!this.context || this.#isWatching) return;
    this.#isWatching = true;
    const { model, command } = this.context;
    new Watch(this, model.notice);
    if (command) new Watch(this, command.state);
  }

  override render() {
    const { context } = this;
    if (!context) return nothing;
    const isNarrow = this.#size.width < NARROW;
    return html`
      ${this.#header(context)}
      ${
        isNarrow
          ? html`<nav class="bar switch" aria-label="Panes">${tabList(
              "Panes",
              PANES.map((name) => ({ name, label: LABELS[name] })),
              this.pane,
              (pane) => (this.pane = pane),
            )}</nav>`
          : nothing
      }
      ${this.#panes(context, isNarrow)}
      ${this.#isDropTarget ? html`<div class="drop">Drop a file of records, a HAR or a log of lsp-devtools</div>` : nothing}
    `;
  }

  #header({ model, command }: InspectorContext) {
    const isDark = theme.value === "dark";
    return html`<header>
      <img src=${new URL("../../src/icon.svg", import.meta.url).href} alt="" width="24" height="24" />
      <h1>Portway <span>inspector</span></h1>
      ${command ? this.#command(command.state.value) : nothing}
      <span class="notice" role="status" title=${model.notice.value}>${model.notice.value}</span>
      <span class="spacer"></span>
      <button class="icon" title="Switch to ${isDark ? "light" : "dark"} colours"
        aria-label="Switch to ${isDark ? "light" : "dark"} colours" @click=${toggleTheme}>
        ${isDark ? icons.sun : icons.moon}
      </button>
    </header>`;
  }

  #command({ command, phase, detail }: CommandState) {
    return html`<span class="command" role="status" data-phase=${phase} title=${detail}>${command}: ${PHASES[phase]}</span>`;
  }

  /** The panes are the same elements in wide and in narrow windows, so that a resize does not lose their state. */
  #panes(context: InspectorContext, isNarrow: boolean) {
    const { links, detail, strip } = this.#fitted();
    const isHidden = (pane: Pane) => isNarrow && this.pane !== pane;
    const sized = (size: string) => (isNarrow ? "" : size);
    const bar = (...parts: Parameters<PaneSizes<keyof typeof DEFAULT_SIZES>["bar"]>) =>
      isNarrow ? nothing : this.#sizes.bar(...parts);
    const { width, height } = this.#size;
    const maxDetail = width - links - MIN_SIZES.list;
    const maxStrip = height - MIN_SIZES.work - HEADER;
    return html`<main class=${isNarrow ? "narrow" : ""}>
      <div class="panes" ?hidden=${isNarrow && this.pane === "strip"}>
        <pw-links role="region" aria-label="Links" .context=${context} ?hidden=${isHidden("links")}
          .style=${sized(`width: ${links}px`)}></pw-links>
        ${bar("links", "Width of the links", { value: links, min: MIN_SIZES.links, max: 480 })}
        <pw-message-list role="region" aria-label="Messages" .context=${context} ?hidden=${isHidden("list")}></pw-message-list>
        ${bar("detail", "Width of the detail", { value: detail, min: MIN_SIZES.detail, max: maxDetail, reverse: true })}
        <pw-detail role="region" aria-label="Detail" .context=${context} ?hidden=${isHidden("detail")}
          .style=${sized(`width: ${detail}px`)}></pw-detail>
      </div>
      ${bar("strip", "Height of the calls", { value: strip, min: MIN_SIZES.strip, max: maxStrip, reverse: true, isHorizontal: true })}
      <pw-strip role="region" aria-label="Calls" .context=${context} ?hidden=${isHidden("strip")}
        .style=${sized(`height: ${strip}px`)}></pw-strip>
    </main>`;
  }

  /** Returns the sizes that the user has chosen, reduced so that all panes fit. */
  #fitted(): typeof DEFAULT_SIZES {
    const { width, height } = this.#size;
    const chosen = this.#sizes.value;
    const links = Math.min(chosen.links, Math.max(MIN_SIZES.links, width * 0.28));
    const room = width - links - Math.max(MIN_SIZES.list, width * 0.3);
    const detail = Math.min(chosen.detail, Math.max(MIN_SIZES.detail, room));
    const strip = Math.min(chosen.strip, Math.max(MIN_SIZES.strip, height * 0.45));
    return { links, detail, strip };
  }

  #show(pane: Pane): void {
    this.pane = pane;
    void this.updateComplete.then(() => this.#focus(pane));
  }

  #focus(pane: Pane): void {
    this.renderRoot.querySelector<HTMLElement>(ELEMENTS[pane])?.focus();
  }

  #key(event: KeyboardEvent): void {
    if (event.key === "F6") this.#showNext(event.shiftKey ? -1 : 1);
    else if (event.key === "/" && !isTyping(event) && !event.ctrlKey && !event.metaKey) {
      this.pane = "list";
      void this.updateComplete.then(() =>
        this.renderRoot.querySelector<HTMLElement & { focusFilter(): void }>("pw-message-list")?.focusFilter(),
      );
    } else return;
    event.preventDefault();
  }

  /** Moves the focus to the next pane, as F6 does in desktop applications. */
  #showNext(step: 1 | -1): void {
    const focused = this.shadowRoot?.activeElement?.localName;
    const next = nextPane(
      PANES,
      PANES.find((pane) => ELEMENTS[pane] === focused),
      step,
    );
    if (next) this.#show(next);
  }

  #drag(event: DragEvent, isTarget: boolean): void {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    this.#isDropTarget = isTarget;
    this.requestUpdate();
  }

  #drop(event: DragEvent): void {
    this.#drag(event, false);
    for (const file of event.dataTransfer?.files ?? []) if (this.context) void importFrom(this.context, file);
  }
}

customElements.define("pw-inspector", InspectorView);
