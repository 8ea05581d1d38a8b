import { css, html, LitElement, nothing } from "lit";
import { findings } from "portway-inspector";
import { controls } from "../../src/controls-style";
import { Watch } from "../../src/store";
import type { InspectorContext } from "./context";
import { visible } from "./format";
import { membersOf } from "./snippets";
import { paneStyles } from "./styles";

/** The maximum number of findings that are listed. A last line counts the findings that are not listed. */
const MAX_FINDINGS = 5;

/** Edits a message as text, and sends this text as it is. So an invalid message can be sent, too. */
class Composer extends LitElement {
  static override properties = { context: { attribute: false }, fault: { state: true } };

  static override styles = [
    controls,
    paneStyles,
    css`
      .compose {
        display: grid;
        gap: 6px;
        padding: 8px 12px 12px;
      }

      .line {
        display: flex;
        flex-wrap: wrap;
        gap: 6px;
        align-items: center;
      }

      textarea {
        box-sizing: border-box;
        width: 100%;
        min-height: 112px;
        padding: 6px 8px;
        font: 12px/18px var(--mono);
        color: var(--text);
        background: var(--surface);
        border: 1px solid var(--line);
        border-radius: 6px;
        resize: vertical;
      }

      select {
        flex: 1 1 90px;
        min-width: 0;
        max-width: 160px;
      }

      ul {
        padding: 0;
        margin: 0;
        font-size: 12px;
        list-style: none;
      }

      button.small {
        border-color: var(--line);
      }
    `,
  ];

  declare context: InspectorContext;
  declare fault: string;
  #isWatching = false;
  #lastId = 0;

  constructor() {
    super();
    this.fault = "";
  }

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { draft, history, saved, links, target } = this.context.connections;
    new Watch(this, draft, history, saved.all, links, target);
  }

  override focus(): void {
    this.renderRoot.querySelector("textarea")?.focus();
  }

  override render() {
    const { connections } = this.context;
    const text = connections.draft.value;
    const links = connections.links.value;
    const found = text.trim() ? findings(text) : [];
    const canSend = connections.targetLink?.state === "open" && text.trim() !== "";
    return html`<div class="compose">
      <div class="line" role="group" aria-label="Templates">
        <button class="small" @click=${() => this.#template("request")}>Request</button>
        <button class="small" @click=${() => this.#template("notification")}>Notification</button>
        <button class="small" @click=${() => this.#template("batch")}>Batch</button>
      </div>
      <textarea aria-label="Message" spellcheck="false" placeholder="The message, as JSON" .value=${text}
        @input=${(event: Event) => connections.draft.set((event.target as HTMLTextAreaElement).value)} @keydown=${this.#key}></textarea>
      ${
        found.length
          ? html`<ul aria-label="Faults of the message">${found
              .slice(0, MAX_FINDINGS)
              .map(
                ({ severity, text: finding }) =>
                  html`<li><span class="badge ${severity === "error" ? "error" : "warn"}">${severity}</span> ${visible(finding)}</li>`,
              )}${found.length > MAX_FINDINGS ? html`<li class="muted">${found.length - MAX_FINDINGS} more</li>` : nothing}</ul>`
          : nothing
      }
      ${this.fault ? html`<span class="error" role="alert">${this.fault}</span>` : nothing}
      <div class="line">
        <button class="primary send" ?disabled=${!canSend} title="Ctrl+Enter" @click=${this.#send}>Send</button>
        ${
          links.length > 1
            ? html`<select aria-label="Connection" @change=${(event: Event) => connections.target.set((event.target as HTMLSelectElement).value)}>
          ${links.map(({ id, name }) => html`<option value=${id} ?selected=${id === connections.target.value}>${visible(name)}</option>`)}
        </select>`
            : nothing
        }
        ${links.length ? nothing : html`<span class="muted">not connected</span>`}
      </div>
      <div class="line">
        <select aria-label="Sent messages" @change=${this.#recall}>
          <option value="">Sent (${connections.history.value.length})</option>
          ${connections.history.value.map((each, index) => html`<option value=${index}>${titleOf(each)}</option>`)}
        </select>
        <select aria-label="Saved messages" @change=${this.#load}>
          <option value="">Saved (${connections.saved.all.value.length})</option>
          ${connections.saved.all.value.map(({ name }) => html`<option value=${name}>${visible(name)}</option>`)}
        </select>
      </div>
      <form class="line" @submit=${this.#save}>
        <input name="name" aria-label="Name of the saved message" placeholder="Name" autocomplete="off" maxlength="80" />
        <button class="small" type="submit" ?disabled=${!text.trim()}>Save</button>
        <button class="small" type="button" @click=${this.#remove}>Delete</button>
      </form>
    </div>`;
  }

  #template(kind: "request" | "notification" | "batch"): void {
    this.#lastId += 1;
    const call = (id: number) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
    const texts = {
      request: call(this.#lastId),
      notification: '{"jsonrpc":"2.0","method":"note","params":{}}',
      batch: `[\n  ${call(this.#lastId)},\n  ${call(this.#lastId + 1)}\n]`,
    };
    if (kind === "batch") this.#lastId += 1;
    this.context.connections.draft.set(texts[kind]);
    this.focus();
  }

  readonly #key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.#send();
  };

  readonly #send = () => {
    const { connections } = this.context;
    try {
      connections.send(connections.draft.value);
      this.fault = "";
    } catch (error) {
      this.fault = error instanceof Error ? error.message : String(error);
    }
  };

  readonly #recall = (event: Event) => {
    const select = event.target as HTMLSelectElement;
    const text = this.context.connections.history.value[Number(select.value)];
    if (select.value && text !== undefined) this.context.connections.draft.set(text);
    select.value = "";
  };

  readonly #load = (event: Event) => {
    const select = event.target as HTMLSelectElement;
    const saved = this.context.connections.saved.all.value.find(({ name }) => name === select.value);
    if (saved) {
      this.context.connections.draft.set(saved.text);
      this.#nameField().value = saved.name;
    }
    select.value = "";
  };

  readonly #save = (event: Event) => {
    event.preventDefault();
    const { saved, draft } = this.context.connections;
    try {
      saved.add(this.#nameField().value.trim() || titleOf(draft.value), draft.value);
      this.fault = "";
    } catch (error) {
      this.fault = `the browser did not store the message: ${error instanceof Error ? error.message : String(error)}`;
    }
  };

  readonly #remove = () => this.context.connections.saved.remove(this.#nameField().value.trim());

  #nameField(): HTMLInputElement {
    return this.renderRoot.querySelector('input[name="name"]') as HTMLInputElement;
  }
}

/** Returns a short title of a message: its method, or its first characters. */
function titleOf(text: string): string {
  const method = membersOf(text.slice(0, 2000)).get("method");
  return visible((method?.replace(/^"|"$/g, "") ?? text.trim()).slice(0, 60));
}

customElements.define("pw-composer", Composer);
