import { html, type TemplateResult } from "lit";

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly label: string;
  readonly count?: number | undefined;
  /** Whether the count is a number of faults. */
  readonly isFault?: boolean | undefined;
}

/** A list of tabs. The arrow keys select the next tab, as the tab pattern of ARIA requires. */
export function tabList<Name extends string>(
  label: string,
  tabs: readonly Tab<Name>[],
  selected: Name,
  select: (name: Name) => void,
): TemplateResult {
  const step = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ name }) => name === selected);
    const next =
      event.key === "ArrowRight"
        ? at + 1
        : event.key === "ArrowLeft"
          ? at - 1
          : event.key === "Home"
            ? 0
            : event.key === "End"
              ? tabs.length - 1
              : undefined;
    if (next === undefined) return;
    event.preventDefault();
    const index = (next + tabs.length) % tabs.length;
    const tab = tabs[index];
    if (!tab) return;
    select(tab.name);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[index]?.focus();
  };
  return html`<div role="tablist" aria-label=${label} @keydown=${step}>
    ${tabs.map(
      ({
        name,
        label: text,
        count,
        isFault,
      }) => html`<button role="tab" data-tab=${name} aria-selected=${name === selected}
        tabindex=${name === selected ? 0 : -1} @click=${() => select(name)}>
        ${text}${count === undefined ? "" : html` <span class="badge ${isFault && count ? "error" : ""}">${count}</span>`}
      </button>`,
    )}
  </div>`;
}
