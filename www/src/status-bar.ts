import { css, html, LitElement } from "lit";
import { controls } from "./controls-style";
import { Watch } from "./store";
import { workspace } from "./workspace";

/** Shows one line about the build, the file system and the cursor. */
class StatusBar extends LitElement {
  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex: none;
        align-items: center;
        gap: 18px;
        height: 26px;
        padding: 0 12px;
        font-size: 12px;
        color: var(--muted);
        white-space: nowrap;
        background: var(--raised);
        border-top: 1px solid var(--line);
      }

      .build {
        display: flex;
        align-items: center;
        gap: 8px;
        min-width: 0;
        color: var(--text);
      }

      .build span {
        overflow: hidden;
        text-overflow: ellipsis;
      }

      .dot {
        flex: none;
        width: 9px;
        height: 9px;
        border-radius: 50%;
        background: var(--line-strong);
      }

      [data-status="ready"] .dot {
        background: var(--ok);
      }

      [data-status="failed"] .dot {
        background: var(--error);
      }

      [data-status="building"] .dot,
      [data-status="starting"] .dot {
        background: var(--accent);
      }
    `,
  ];

  constructor() {
    super();
    const { builds, cursor, preview } = workspace;
    new Watch(this, builds.state, builds.fileSystemRequests, cursor, preview.status);
  }

  override render() {
    const { status, text } = workspace.builds.state.value;
    const { line, column } = workspace.cursor.value;
    // Progress changes many times a second, so screen readers read only the result of the build.
    const spoken = status === "ready" || status === "failed" ? text : "";
    return html`
      <div class="build" data-status=${status} aria-hidden="true"><i class="dot"></i><span>${text}</span></div>
      <span class="hidden" role="status" aria-live="polite">${spoken}</span>
      <span class="spacer"></span>
      <span class="reads" title="Requests of the build worker to the page's file system, on the same channel as the calls">
        ZenFS requests: ${workspace.builds.fileSystemRequests.value}
      </span>
      <span class="cursor">Ln ${line}, Col ${column}</span>
    `;
  }
}

customElements.define("pw-status", StatusBar);
