// The layout of panes: their sizes, the bars that change these sizes, and the keys that move the focus between panes.
// The playground, the inspector and the inspector's panel use this module.
import { html, type LitElement, type ReactiveController, type ReactiveControllerHost } from "lit";
import "./splitter";

/** The sizes of panes that the user has chosen, in pixels. The browser stores them under a key. */
export class PaneSizes<Pane extends string> {
  readonly #host: ReactiveControllerHost;
  readonly #key: string;
  #value: Readonly<Record<Pane, number>>;

  constructor(host: ReactiveControllerHost, key: string, defaults: Readonly<Record<Pane, number>>) {
    this.#host = host;
    this.#key = key;
    this.#value = { ...defaults, ...read<Pane>(key) };
  }

  get value(): Readonly<Record<Pane, number>> {
    return this.#value;
  }

  /** Returns the bar that changes the size of a pane. A bar with `reverse` is before its pane, in reading order. */
  bar(
    pane: Pane,
    label: string,
    { value, min, max, reverse = false, isHorizontal = false }: BarOptions,
  ): ReturnType<typeof html> {
    return html`<pw-splitter orientation=${isHorizontal ? "horizontal" : "vertical"} label=${label}
      .value=${value} .min=${min} .max=${Math.max(min, max)} ?reverse=${reverse}
      @resize=${({ detail }: CustomEvent<number>) => this.#set(pane, detail)}></pw-splitter>`;
  }

  #set(pane: Pane, size: number): void {
    this.#value = { ...this.#value, [pane]: size };
    localStorage.setItem(this.#key, JSON.stringify(this.#value));
    this.#host.requestUpdate();
  }
}

/** The current size of a pane and its bounds, in pixels. */
interface BarOptions {
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly reverse?: boolean;
  readonly isHorizontal?: boolean;
}

function read<Pane extends string>(key: string): Partial<Record<Pane, number>> {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Record<Pane, number>>;
  } catch {
    return {};
  }
}

/**
 * The size of a component's element in pixels, or that of the element in the component that matches a selector. The
 * component is rendered again when this size changes. Until the first measurement, it is the size of the window.
 */
export class ElementSize implements ReactiveController {
  width = innerWidth;
  height = innerHeight;
  readonly #host: LitElement;
  readonly #selector: string | undefined;
  #observed: Element | null = null;
  readonly #observer = new ResizeObserver(([entry]) => {
    // A hidden element has no width. The last size stays, so that the layout is the same when the element is shown.
    if (!entry?.contentRect.width) return;
    this.width = entry.contentRect.width;
    this.height = entry.contentRect.height;
    this.#host.requestUpdate();
  });

  constructor(host: LitElement, selector?: string) {
    this.#host = host;
    this.#selector = selector;
    host.addController(this);
  }

  hostConnected(): void {
    this.#observe();
  }

  hostUpdated(): void {
    // The element that matches the selector exists after the first update.
    if (!this.#observed) this.#observe();
  }

  hostDisconnected(): void {
    this.#observer.disconnect();
    this.#observed = null;
  }

  #observe(): void {
    // Before the first update, the component has no `renderRoot`.
    this.#observed = this.#selector ? (this.#host.renderRoot?.querySelector(this.#selector) ?? null) : this.#host;
    if (this.#observed) this.#observer.observe(this.#observed);
  }
}

/**
 * Returns the pane `step` panes after the pane with the focus. If no pane has the focus, returns the first or last
 * pane.
 */
export function nextPane<Pane>(panes: readonly Pane[], focused: Pane | undefined, step: 1 | -1): Pane | undefined {
  const at = focused === undefined ? -1 : panes.indexOf(focused);
  if (at === -1) return step < 0 ? panes.at(-1) : panes[0];
  return panes[(at + step + panes.length) % panes.length];
}

/** Returns whether a key is typed into a field, so that it is not a command. */
export function isTyping(event: KeyboardEvent): boolean {
  return event
    .composedPath()
    .some(
      (target) =>
        target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable),
    );
}
