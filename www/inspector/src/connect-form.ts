import { css, html, LitElement, nothing } from "lit";
import { controls } from "../../src/controls-style";
import type { InspectorContext } from "./context";
import { paneStyles } from "./styles";

/** The form that opens a WebSocket or the dummy server. */
class ConnectForm extends LitElement {
  static override properties = { context: { attribute: false }, fault: { state: true } };

  static override styles = [
    controls,
    paneStyles,
    css`
      form {
        display: grid;
        gap: 6px;
        padding: 8px 12px 10px;
      }

      label {
        display: grid;
        gap: 2px;
        font-size: 12px;
        color: var(--muted);
      }

      label.check {
        display: flex;
        gap: 6px;
        align-items: center;
        color: var(--text);
      }

      input:not([type="checkbox"]) {
        width: 100%;
        font-family: var(--mono);
        font-size: 12px;
      }

      input[type="checkbox"] {
        min-height: 0;
        margin: 0;
        accent-color: var(--accent);
      }

      summary {
        padding: 2px 0;
        color: var(--muted);
        cursor: pointer;
      }

      details > * + * {
        margin-top: 6px;
      }

      .buttons {
        display: flex;
        gap: 6px;
      }
    `,
  ];

  declare context: InspectorContext;
  declare fault: string;

  constructor() {
    super();
    this.fault = "";
  }

  override render() {
    return html`<form @submit=${this.#connect}>
      <label>Address of a WebSocket
        <input name="url" placeholder="ws://127.0.0.1:8080/" spellcheck="false" autocomplete="off" />
      </label>
      <details>
        <summary>Options</summary>
        <label>Subprotocols, separated by commas
          <input name="protocols" spellcheck="false" autocomplete="off" />
        </label>
        <label>First message of each connection
          <input name="first" placeholder='{"jsonrpc":"2.0","method":"login"}' spellcheck="false" autocomplete="off" />
        </label>
        <label class="check"><input name="reconnect" type="checkbox" checked />Reconnect after 0.5 to 4 s</label>
      </details>
      ${this.fault ? html`<span class="error" role="alert">${this.fault}</span>` : nothing}
      <div class="buttons">
        <button class="primary" type="submit">Connect</button>
        <button class="bordered" type="button" title="Connect to a small server inside this page"
          @click=${() => this.context.connections.openDummy()}>Dummy server</button>
      </div>
    </form>`;
  }

  readonly #connect = (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const field = (name: string) => String(data.get(name) ?? "").trim();
    const url = field("url");
    if (!/^wss?:\/\//i.test(url)) {
      this.fault = `the address must begin with ws:// or wss://, got ${url || "no address"}`;
      return;
    }
    this.fault = "";
    const first = field("first");
    this.context.connections.openSocket({
      url,
      protocols: field("protocols")
        .split(",")
        .map((name) => name.trim())
        .filter(Boolean),
      first: first ? [first] : [],
      reconnect: data.get("reconnect") !== null,
    });
  };
}

customElements.define("pw-connect-form", ConnectForm);
