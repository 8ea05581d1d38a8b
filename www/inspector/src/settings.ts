import { css, html, LitElement } from "lit";
import { kaiak, wiggum } from "portway";
import type { Options } from "portway-inspector";
import { controls } from "../../src/controls-style";
import type { InspectorContext } from "./context";
import { paneStyles } from "./styles";

const MIB = 1024 * 1024;

/** The names of a profile without error codes of its own. */
const NO_NAMES = {};

/**
 * The names of error codes in each profile. The same error code has different names in different applications, so the
 * user chooses the profile.
 */
const PROFILES: Readonly<Record<string, Options["codeNames"]>> = { "JSON-RPC": NO_NAMES, Wiggum: wiggum, Kaiak: kaiak };

type NumberOption = "limit" | "dropChunkSize";
type FlagOption = "preferPending" | "preferBatches";

/** The limits of the history, the names of errors, and the names of secrets. Each change has an effect at once. */
class Settings extends LitElement {
  static override properties = { context: { attribute: false } };

  static override styles = [
    controls,
    paneStyles,
    css`
      details {
        padding: 6px 12px 10px;
      }

      summary {
        padding: 2px 0;
        font-weight: 600;
        cursor: pointer;
      }

      .fields {
        display: grid;
        gap: 6px;
        padding-top: 4px;
      }

      label {
        display: grid;
        grid-template-columns: 1fr 110px;
        gap: 6px;
        align-items: center;
        font-size: 12px;
      }

      label.check {
        grid-template-columns: auto 1fr;
      }

      label.wide {
        grid-template-columns: 1fr;
        gap: 2px;
      }

      input,
      select {
        width: 100%;
        min-width: 0;
      }

      input[type="checkbox"] {
        width: auto;
        min-height: 0;
        margin: 0;
        accent-color: var(--accent);
      }
    `,
  ];

  declare context: InspectorContext;
  #profile: Options["codeNames"] = NO_NAMES;

  override render() {
    const options = this.context.model.core.options();
    return html`<details>
      <summary>Settings</summary>
      <div class="fields">
        ${this.#number("limit", "Maximum number of rows", 1_000_000, options)}
        <label>Maximum size of texts, in MiB
          <input type="number" min="0" max="4096" .value=${String(Math.round(options.bytes / MIB))}
            @change=${(event: Event) => this.#configure({ bytes: numberOf(event) * MIB })} />
        </label>
        ${this.#flag("preferPending", "Drop rows with a pending call last", options)}
        ${this.#flag("preferBatches", "Drop batches last", options)}
        ${this.#number("dropChunkSize", "Rows dropped at a time if only rows to drop last remain", 100_000, options)}
        ${this.#choice("rowHeight", "Height of rows", { heuristic: "by content", fixed: "fixed" }, options)}
        ${this.#choice("batchMatch", "A response array answers a batch if it has", { all: "all ids", any: "any id" }, options)}
        <label>Names of error codes
          <select @change=${this.#setProfile}>
            ${Object.keys(PROFILES).map((name) => html`<option ?selected=${PROFILES[name] === this.#profile}>${name}</option>`)}
          </select>
        </label>
        <label class="wide">Secret members, separated by commas
          <input spellcheck="false" placeholder="api_key, *_secret" .value=${this.context.model.maskNames.value.join(", ")} @change=${this.#setMasks} />
        </label>
      </div>
    </details>`;
  }

  #number(name: NumberOption, label: string, max: number, options: Options) {
    return html`<label>${label}
      <input name=${name} type="number" min="0" max=${max} .value=${String(options[name])}
        @change=${(event: Event) => this.#configure({ [name]: numberOf(event) })} />
    </label>`;
  }

  #flag(name: FlagOption, label: string, options: Options) {
    return html`<label class="check">
      <input type="checkbox" .checked=${options[name]} @change=${(event: Event) => this.#configure({ [name]: (event.target as HTMLInputElement).checked })} />
      ${label}
    </label>`;
  }

  #choice<Name extends "rowHeight" | "batchMatch">(
    name: Name,
    label: string,
    names: Record<Options[Name], string>,
    options: Options,
  ) {
    const set = (event: Event) =>
      this.#configure({ [name]: (event.target as HTMLSelectElement).value as Options[Name] });
    return html`<label>${label}
      <select @change=${set}>
        ${Object.entries<string>(names).map(([value, text]) => html`<option value=${value} ?selected=${options[name] === value}>${text}</option>`)}
      </select>
    </label>`;
  }

  #configure(options: Partial<Options>): void {
    this.context.model.configure(options);
    // The core may have replaced a value that is out of range, so the fields are rendered again.
    this.requestUpdate();
  }

  readonly #setProfile = (event: Event) => {
    this.#profile = PROFILES[(event.target as HTMLSelectElement).value] ?? NO_NAMES;
    this.#configure({ codeNames: this.#profile });
  };

  readonly #setMasks = (event: Event) => {
    const names = (event.target as HTMLInputElement).value.split(",").map((name) => name.trim());
    this.context.model.maskNames.set(names.filter(Boolean));
  };
}

function numberOf(event: Event): number {
  const value = (event.target as HTMLInputElement).valueAsNumber;
  return Number.isNaN(value) ? 0 : value;
}

customElements.define("pw-settings", Settings);
