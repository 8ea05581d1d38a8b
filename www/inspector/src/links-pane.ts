import { css, html, LitElement, nothing } from "lit";
import type { Link } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { Watch } from "../../src/store";
import "./composer";
import "./connect-form";
import type { InspectorContext } from "./context";
import { bytes, count, duration, plural, visible } from "./format";
import "./settings";
import type { OwnLink } from "./socket-link";
import { paneStyles } from "./styles";

/** Shows the links with their figures, and on the page of the inspector also a connection form and the composer. */
class LinksPane extends LitElement {
  static override properties = { context: { attribute: false } };

  static override styles = [
    controls,
    paneStyles,
    css`
      section {
        flex: none;
        border-bottom: 1px solid var(--line);
      }

      ul {
        padding: 0;
        margin: 0;
        list-style: none;
      }

      li:last-child {
        border-bottom: 0;
      }

      li {
        padding: 7px 10px 8px 12px;
        border-bottom: 1px solid var(--line);
        border-left: 3px solid transparent;
      }

      li.chosen {
        background: var(--selected);
        border-left-color: var(--accent);
      }

      .line {
        display: flex;
        gap: 6px;
        align-items: center;
        min-width: 0;
      }

      .name {
        flex: 0 1 auto;
        justify-content: flex-start;
        min-width: 0;
        min-height: 24px;
        padding: 0 4px;
        margin-left: -4px;
        overflow: hidden;
        font-weight: 600;
        text-align: left;
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      .dot {
        flex: none;
        width: 8px;
        height: 8px;
        background: var(--line-strong);
        border-radius: 50%;
      }

      .dot[data-state="open"] {
        background: var(--ok);
      }

      .dot:is([data-state="waiting"], [data-state="connecting"]) {
        background: var(--warn);
      }

      .dot[data-state="closed"] {
        background: var(--error);
      }

      dl {
        display: grid;
        grid-template-columns: auto 1fr auto 1fr;
        gap: 1px 8px;
        margin: 4px 0 0;
        font-size: 12px;
      }

      dt {
        color: var(--muted);
      }

      dd {
        margin: 0;
        font-variant-numeric: tabular-nums;
        white-space: nowrap;
      }

      .facts {
        display: flex;
        flex-wrap: wrap;
        gap: 4px;
        margin-top: 4px;
      }

      .line > .state {
        flex: none;
      }

      .state {
        font-size: 12px;
        color: var(--muted);
        overflow-wrap: anywhere;
      }
    `,
  ];

  declare context: InspectorContext;
  #isWatching = false;

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model, connections } = this.context;
    new Watch(this, model.summary, model.filter, connections.links);
  }

  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>("pw-composer")?.focus();
  }

  override render() {
    const { model, connections, isEmbedded } = this.context;
    const links = model.core.links();
    const own = new Map(connections.links.value.map((link) => [link.id, link]));
    const unrecorded = connections.links.value.filter(({ id }) => !links.some((link) => link.id === id));
    return html`
      ${isEmbedded ? nothing : html`<div class="bar"><h2>Links</h2><span class="badge">${links.length + unrecorded.length}</span></div>`}
      <div class="scroll" tabindex="-1">
        <section aria-label="Known links">
          ${links.length || unrecorded.length ? nothing : html`<p class="empty">No links yet.</p>`}
          <ul>
            ${unrecorded.map((link) => html`<li>${this.#ownState(link)}</li>`)}
            ${links.map((link) => this.#link(link, own.get(link.id)))}
          </ul>
        </section>
        ${
          isEmbedded
            ? nothing
            : html`<section aria-label="New connection"><pw-connect-form .context=${this.context}></pw-connect-form></section>
              <section aria-label="Composer"><pw-composer .context=${this.context}></pw-composer></section>`
        }
        <section aria-label="Settings"><pw-settings .context=${this.context}></pw-settings></section>
      </div>
    `;
  }

  #link(link: Link, own: OwnLink | undefined) {
    const { model } = this.context;
    const { links } = model.filter.value;
    const isChosen = links.includes(link.index);
    const toggle = () => {
      const next = isChosen ? links.filter((each) => each !== link.index) : [...links, link.index];
      model.setFilter({ ...model.filter.value, links: next });
    };
    const { sent, received } = link;
    return html`<li class=${isChosen ? "chosen" : ""}>
      ${
        own
          ? this.#ownState(own, toggle, isChosen)
          : html`<div class="line">
              <span class="dot" data-state=${link.state}></span>
              ${this.#name(link.name, toggle, isChosen)}
              <span class="state">${link.state === "unknown" ? "" : link.state}</span>
            </div>`
      }
      ${own ? nothing : html`<div class="state">${[link.transport, closeOf(link)].filter(Boolean).join(" · ")}</div>`}
      <dl>
        <dt>Sent</dt><dd>${count(sent.messages)}, ${bytes(sent.bytes)}</dd>
        <dt>Last</dt><dd title="The time from the last answered request to its response">${duration(link.lastElapsed)}</dd>
        <dt>Received</dt><dd>${count(received.messages)}, ${bytes(received.bytes)}</dd>
        <dt>Median</dt><dd>${duration(link.medianElapsed)}</dd>
      </dl>
      <div class="facts">
        ${link.pending ? html`<span class="badge warn">${link.pending} pending</span>` : nothing}
        ${link.errors ? html`<span class="badge error">${plural(link.errors, "error")}</span>` : nothing}
        ${link.unmatched ? html`<span class="badge error">${link.unmatched} unmatched</span>` : nothing}
        ${link.reconnects ? html`<span class="badge">${plural(link.reconnects, "reconnect")}</span>` : nothing}
        ${link.lost ? html`<span class="badge warn">${count(link.lost)} not recorded</span>` : nothing}
      </div>
    </li>`;
  }

  #name(name: string, toggle: (() => void) | undefined, isChosen: boolean) {
    if (!toggle) return html`<span class="name">${visible(name)}</span>`;
    return html`<button class="name" aria-pressed=${isChosen} title="Show only the messages of this link: ${visible(name)}" @click=${toggle}>${visible(name)}</button>`;
  }

  #ownState(link: OwnLink, toggle?: () => void, isChosen = false) {
    const label = { connecting: "Connecting", open: "Connected", waiting: "Waiting", closed: "Closed" }[link.state];
    return html`<div class="line">
        <span class="dot" data-state=${link.state}></span>
        ${this.#name(link.name, toggle, isChosen)}
        <span class="spacer"></span>
        <button class="small" aria-label="${link.state === "closed" ? "Remove" : "Disconnect"} ${visible(link.name)}"
          @click=${() => this.context.connections.close(link)}>${link.state === "closed" ? "Remove" : "Disconnect"}</button>
      </div>
      <div class="state"><span class="own">${label}</span>${link.detail ? ` · ${visible(link.detail)}` : ""}</div>`;
  }
}

function closeOf({ state, closeCode, closeReason }: Link): string {
  if (state !== "closed") return "";
  return visible([closeCode === null ? "" : `code ${closeCode}`, closeReason ?? ""].filter(Boolean).join(": "));
}

customElements.define("pw-links", LinksPane);
