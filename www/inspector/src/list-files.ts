import { css, html, LitElement } from "lit";
import { controls } from "../../src/controls-style";
import { Watch } from "../../src/store";
import type { InspectorContext } from "./context";
import { importFrom } from "./open-file";
import { paneStyles } from "./styles";

/** The commands that read files, and write the shown rows to a file. */
class ListFiles extends LitElement {
  static override properties = { context: { attribute: false } };

  static override styles = [
    controls,
    paneStyles,
    css`
      :host {
        flex: none;
        flex-direction: row;
        gap: 2px;
        background: none;
      }
    `,
  ];

  declare context: InspectorContext;
  #isWatching = false;

  override willUpdate(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    const { model } = this.context;
    new Watch(this, model.summary, model.filter, model.isPaused);
  }

  override render() {
    const isEmpty = this.context.model.totals().shown === 0;
    const exportButton = html`<button class="small" ?disabled=${isEmpty}
      title="Write the rows that are shown to a file, as a JSON array" @click=${() => this.#export("json")}>Export</button>`;
    // A panel shows the messages of its page, and has no room for all commands.
    if (this.context.isEmbedded) return exportButton;
    return html`
      <button class="small" title="Open a file of records, a HAR, or a log of lsp-devtools" @click=${this.#choose}>Open</button>
      ${exportButton}
      <button class="small" ?disabled=${isEmpty} title="Write the rows that are shown to a file, one record per line"
        aria-label="Export as lines" @click=${() => this.#export("jsonl")}>Lines</button>
      <input type="file" hidden multiple accept=".json,.jsonl,.har,.log,.txt" aria-label="Files to open" @change=${this.#open} />
    `;
  }

  readonly #choose = () => this.renderRoot.querySelector("input")?.click();

  readonly #open = async (event: Event) => {
    const input = event.target as HTMLInputElement;
    for (const file of input.files ?? []) await importFrom(this.context, file);
    // Otherwise, the browser would send no `change` event if the user chooses the same file again.
    input.value = "";
  };

  async #export(format: "json" | "jsonl"): Promise<void> {
    const { model } = this.context;
    const file = await model.exportShown(format);
    if (!file) return;
    const url = URL.createObjectURL(new Blob([...file.parts], { type: "application/json" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    model.notice.set(`exported ${file.rows} rows to ${file.name}`);
  }
}

customElements.define("pw-list-files", ListFiles);
