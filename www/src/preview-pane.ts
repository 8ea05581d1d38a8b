import { css, html, LitElement } from "lit";
import { controls } from "./controls-style";
import * as icons from "./icons";
import { Watch } from "./store";
import { workspace } from "./workspace";

/** The preview's iframe and its address bar. */
class PreviewPane extends LitElement {
  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-direction: column;
        min-width: 0;
        min-height: 0;
        background: var(--surface);
      }

      form {
        flex: 1;
        min-width: 0;
      }

      form input {
        width: 100%;
        border-radius: 14px;
        padding: 0 12px;
        font-family: var(--mono);
        font-size: 12px;
      }

      .stage {
        position: relative;
        flex: 1;
        min-height: 0;
      }

      .frame,
      .wait {
        position: absolute;
        inset: 0;
      }

      .wait {
        display: grid;
        place-content: center;
        justify-items: center;
        gap: 14px;
        color: var(--muted);
        background: var(--surface);
      }

      .wait::before {
        content: "";
        width: 22px;
        height: 22px;
        border: 2px solid var(--line);
        border-top-color: var(--accent);
        border-radius: 50%;
        animation: turn 0.9s linear infinite;
      }

      .wait[data-failed]::before {
        display: none;
      }

      @keyframes turn {
        to {
          rotate: 1turn;
        }
      }

      @media (prefers-reduced-motion: reduce) {
        .wait::before {
          animation-duration: 4s;
        }
      }

      .frame iframe {
        width: 100%;
        height: 100%;
        border: 0;
        background: var(--surface);
        color-scheme: inherit;
      }
    `,
  ];

  constructor() {
    super();
    const { status, navigation } = workspace.preview;
    new Watch(this, status, navigation, workspace.builds.state);
  }

  override render() {
    const { preview, builds } = workspace;
    const { canGoBack, canGoForward, url } = preview.navigation.value;
    const empty = preview.status.value === "empty";
    const failed = builds.state.value.status === "failed";
    return html`
      <div class="bar">
        <button class="icon" title="Back" aria-label="Back" ?disabled=${!canGoBack} @click=${() => preview.traverse(-1)}>
          ${icons.back}
        </button>
        <button class="icon" title="Forward" aria-label="Forward" ?disabled=${!canGoForward} @click=${() => preview.traverse(1)}>
          ${icons.forward}
        </button>
        <button class="icon" title="Refresh" aria-label="Refresh" ?disabled=${empty} @click=${() => preview.refresh()}>
          ${icons.refresh}
        </button>
        <form @submit=${this.#navigate}>
          <input name="url" aria-label="Address of the preview" spellcheck="false" autocomplete="off" .value=${url}
            @keydown=${this.#restore} />
        </form>
      </div>
      <div class="stage">
        <div class="frame"></div>
        ${
          empty
            ? html`<div class="wait" ?data-failed=${failed}>${failed ? "The preview is empty until a build succeeds" : builds.state.value.text}</div>`
            : ""
        }
      </div>
    `;
  }

  override firstUpdated(): void {
    const host = this.renderRoot.querySelector<HTMLElement>(".frame");
    if (host) workspace.preview.mount(host);
  }

  override focus(): void {
    this.renderRoot.querySelector("input")?.select();
  }

  readonly #navigate = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = String(new FormData(event.target as HTMLFormElement).get("url")).trim();
    const path = /^[a-z][a-z0-9+.-]*:/i.test(typed) || typed.startsWith("/") ? typed : `/${typed}`;
    void workspace.preview.navigate(path);
  };

  readonly #restore = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    (event.target as HTMLInputElement).value = workspace.preview.navigation.value.url;
  };
}

customElements.define("pw-preview", PreviewPane);
