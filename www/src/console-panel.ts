import { css, html, LitElement, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";
import type { ConsoleEntry } from "./console-log";
import { controls } from "./controls-style";
import type { SourcePosition } from "./source-position";
import { Watch } from "./store";
import { workspace } from "./workspace";

/** Shows the console output and errors of the app, and the errors of builds. The newest entry is at the end. */
class ConsolePanel extends LitElement {
  static override styles = [
    controls,
    css`
      :host {
        display: block;
        overflow: auto;
        font: 12px/1.5 var(--mono);
      }

      ol {
        margin: 0;
        padding: 0;
        list-style: none;
      }

      li {
        display: flex;
        gap: 10px;
        padding: 3px 12px;
        content-visibility: auto;
        contain-intrinsic-height: auto 25px;
        border-bottom: 1px solid color-mix(in srgb, var(--line) 55%, transparent);
      }

      li[data-level="error"] {
        color: var(--error);
        background: var(--error-bg);
      }

      li[data-level="warn"] {
        color: var(--warn);
        background: var(--warn-bg);
      }

      li[data-level="system"],
      li[data-level="debug"] {
        color: var(--muted);
      }

      time {
        color: var(--muted);
      }

      .text {
        flex: 1;
        min-width: 0;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }

      .count {
        padding: 0 6px;
        color: var(--surface);
        background: var(--muted);
        border-radius: 8px;
        align-self: flex-start;
      }

      .detail {
        display: block;
        color: var(--muted);
      }

      a {
        align-self: flex-start;
        color: inherit;
      }

      .empty {
        padding: 16px;
        font-family: var(--sans);
        color: var(--muted);
      }
    `,
  ];

  #followsEnd = true;

  constructor() {
    super();
    new Watch(this, workspace.console.entries);
    this.addEventListener("scroll", () => {
      this.#followsEnd = this.scrollTop + this.clientHeight >= this.scrollHeight - 24;
    });
  }

  override render() {
    const entries = workspace.console.entries.value;
    if (!entries.length) return html`<div class="empty">The preview has printed nothing yet.</div>`;
    return html`<div role="log" aria-label="Console">
      <ol>${repeat(
        entries,
        ({ seq }) => seq,
        (entry) => this.#row(entry),
      )}</ol>
    </div>`;
  }

  #row({ level, text, time, position, detail, count }: ConsoleEntry) {
    return html`<li data-level=${level}>
      <time>${new Date(time).toLocaleTimeString("en-GB")}</time>
      <span class="text">${text}${detail ? html`<span class="detail">${trimmed(detail, text)}</span>` : nothing}</span>
      ${count > 1 ? html`<span class="count" aria-label="${count} times">${count}</span>` : nothing}
      ${position ? this.#link(position) : nothing}
    </li>`;
  }

  #link({ file, line, column }: SourcePosition) {
    const go = (event: Event) => {
      event.preventDefault();
      workspace.goTo({ file, line, column });
    };
    return html`<a href="#" title="Go to the line" @click=${go}>${file}:${line}</a>`;
  }

  override updated(): void {
    if (this.#followsEnd) this.scrollTop = this.scrollHeight;
  }
}

/** Returns the first lines of a stack or snippet, without lines that repeat the message. */
function trimmed(detail: string, text: string): string {
  const lines = detail.split("\n").filter((line) => line.trim() && !text.endsWith(line.replace(/^\w*Error: /, "")));
  return lines.slice(0, 6).join("\n");
}

customElements.define("pw-console", ConsolePanel);
