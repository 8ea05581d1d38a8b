import { css, html, LitElement, nothing, type TemplateResult } from "lit";
import { visible } from "./format";
import { type Children, childrenOf, type JsonNode, rootOf } from "./json-text";

/** The number of children that are shown at first, and that each click on "more" adds. */
const PAGE = 100;
/** The number of characters of a string that are shown until the user expands the string. */
const MAX_STRING = 300;
/**
 * The root is open at first. In the three levels below the root, a container is open at first if its text is shorter
 * than this number of characters. So small messages are shown in full.
 */
const SMALL = 2000;

interface Entry extends JsonNode {
  readonly path: string;
  readonly depth: number;
}

/** Shows JSON text as a tree. Only open containers are read, so that a large message is shown without a delay. */
class JsonTree extends LitElement {
  static override properties = { text: {}, label: {}, revision: { state: true } };

  static override styles = css`
    :host {
      display: block;
      overflow: auto;
      font: 12px/20px var(--mono);
    }

    [role="tree"] {
      min-width: max-content;
      padding: 6px 8px;
    }

    [role="treeitem"] {
      display: flex;
      gap: 4px;
      white-space: nowrap;
      border-radius: 4px;
      cursor: default;
    }

    [role="treeitem"]:hover {
      background: var(--hover);
    }

    [role="treeitem"]:focus-visible {
      outline: 2px solid var(--accent);
      outline-offset: -2px;
    }

    .twist {
      flex: none;
      width: 12px;
      color: var(--muted);
    }

    .key {
      color: var(--syn-name);
    }

    .string {
      color: var(--syn-string);
      white-space: pre-wrap;
      overflow-wrap: anywhere;
      max-width: 90ch;
      unicode-bidi: isolate;
    }

    .number,
    .literal {
      color: var(--syn-number);
    }

    .invalid {
      color: var(--error);
    }

    .quiet {
      color: var(--muted);
    }
  `;

  declare text: string;
  declare label: string;
  declare revision: number;
  /** The paths of containers that the user has opened or closed. */
  readonly #open = new Map<string, boolean>();
  /** The number of pages of children that are shown, by the path of the container. */
  readonly #pages = new Map<string, number>();
  /** The path of the item that the Tab key reaches. */
  #focused = "";
  #rendered: Entry[] = [];

  constructor() {
    super();
    this.text = "";
    this.label = "Message";
    this.revision = 0;
  }

  override willUpdate(changed: Map<string, unknown>): void {
    if (!changed.has("text")) return;
    this.#open.clear();
    this.#pages.clear();
    this.#focused = "";
  }

  override render() {
    const root: Entry = { ...rootOf(this.text), path: "", depth: 0 };
    this.#rendered = [];
    const items: TemplateResult[] = [];
    this.#visit(root, items);
    return html`<div role="tree" aria-label=${this.label} @keydown=${this.#key} @click=${this.#click}>${items}</div>`;
  }

  /**
   * Adds the templates of an entry and of its open descendants. Does not recurse, because a message may have any depth.
   */
  #visit(root: Entry, items: TemplateResult[]): void {
    const stack: (Entry | TemplateResult)[] = [root];
    for (let entry = stack.pop(); entry; entry = stack.pop()) {
      if (!("path" in entry)) {
        items.push(entry);
        continue;
      }
      this.#rendered.push(entry);
      const isContainer = entry.kind === "object" || entry.kind === "array";
      const isOpen = isContainer && this.#isOpen(entry);
      items.push(this.#item(entry, isContainer, isOpen));
      if (!isOpen) continue;
      const children = childrenOf(this.text, entry, PAGE * (this.#pages.get(entry.path) ?? 1));
      if (children.next) stack.push(this.#more(entry, children));
      for (let index = children.nodes.length - 1; index >= 0; index -= 1) {
        const child = children.nodes[index];
        if (child) stack.push({ ...child, path: `${entry.path}/${index}`, depth: entry.depth + 1 });
      }
    }
  }

  #isOpen(entry: Entry): boolean {
    return this.#open.get(entry.path) ?? (entry.depth === 0 || (entry.depth < 4 && entry.end - entry.start < SMALL));
  }

  #item(entry: Entry, isContainer: boolean, isOpen: boolean): TemplateResult {
    const { path, depth, key } = entry;
    const name = typeof key === "string" ? shortened(visible(key), MAX_STRING) : key === null ? "" : String(key);
    return html`<div role="treeitem" data-path=${path} aria-level=${depth + 1} aria-expanded=${isContainer ? isOpen : nothing}
      tabindex=${path === this.#focused ? 0 : -1} .style=${`padding-left: ${Math.min(depth, 60) * 14}px`}>
      <span class="twist" aria-hidden="true">${isContainer ? (isOpen ? "▾" : "▸") : ""}</span>
      ${name ? html`<span class="key">${name}:</span>` : nothing}
      ${isContainer ? html`<span class="quiet">${isOpen ? this.text[entry.start] : this.#summary(entry)}</span>` : this.#value(entry)}
    </div>`;
  }

  #summary({ kind, start, end }: Entry): string {
    const text = shortened(visible(this.text.slice(start, Math.min(end, start + 80))), 80);
    return end - start > 80 ? `${text}… ${kind === "object" ? "}" : "]"}` : text;
  }

  #value({ kind, start, end, path }: Entry): TemplateResult {
    const isLong = end - start > MAX_STRING && !this.#open.get(path);
    const text = this.text.slice(start, isLong ? start + MAX_STRING : Math.min(end, start + 100_000));
    const rest = isLong ? `… ${end - start - MAX_STRING} more characters` : "";
    return html`<span class=${kind}>${visible(text)}<span class="quiet">${rest}</span></span>`;
  }

  #more(entry: Entry, children: Children): TemplateResult {
    return html`<div role="treeitem" data-more=${entry.path} aria-level=${entry.depth + 2} tabindex="-1"
      .style=${`padding-left: ${Math.min(entry.depth + 1, 60) * 14 + 16}px`}>
      <span class="quiet">show more after ${children.nodes.length}</span>
    </div>`;
  }

  readonly #click = (event: Event) => {
    const item = (event.target as HTMLElement).closest<HTMLElement>("[role=treeitem]");
    if (item) this.#toggle(item);
  };

  #toggle(item: HTMLElement): void {
    const { path, more } = item.dataset;
    if (more !== undefined) this.#pages.set(more, (this.#pages.get(more) ?? 1) + 1);
    else if (path !== undefined) {
      const entry = this.#rendered.find((each) => each.path === path);
      if (!entry) return;
      const isContainer = entry.kind === "object" || entry.kind === "array";
      this.#open.set(path, !(isContainer ? this.#isOpen(entry) : this.#open.get(path)));
      this.#focused = path;
    }
    this.revision += 1;
  }

  readonly #key = (event: KeyboardEvent) => {
    const items = [...this.renderRoot.querySelectorAll<HTMLElement>("[role=treeitem]")];
    const at = items.indexOf(event.target as HTMLElement);
    const item = items[at];
    if (!item) return;
    const expanded = item.getAttribute("aria-expanded");
    if (event.key === "ArrowDown") this.#focusItem(items[at + 1]);
    else if (event.key === "ArrowUp") this.#focusItem(items[at - 1]);
    else if (event.key === "Home") this.#focusItem(items[0]);
    else if (event.key === "End") this.#focusItem(items.at(-1));
    else if (event.key === "Enter" || event.key === " ") this.#toggle(item);
    else if (event.key === "ArrowRight" && expanded === "false") this.#toggle(item);
    else if (event.key === "ArrowRight" && expanded === "true") this.#focusItem(items[at + 1]);
    else if (event.key === "ArrowLeft" && expanded === "true") this.#toggle(item);
    else if (event.key === "ArrowLeft")
      this.#focusItem(items.findLast((each, index) => index < at && levelOf(each) < levelOf(item)));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  #focusItem(item: HTMLElement | undefined): void {
    if (!item) return;
    this.#focused = item.dataset.path ?? this.#focused;
    for (const each of this.renderRoot.querySelectorAll("[role=treeitem]")) each.setAttribute("tabindex", "-1");
    item.setAttribute("tabindex", "0");
    item.focus();
  }
}

function levelOf(item: HTMLElement): number {
  return Number(item.getAttribute("aria-level"));
}

function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

customElements.define("pw-json-tree", JsonTree);
