import { css, html, LitElement, nothing } from "lit";
import { controls } from "./controls-style";
import * as icons from "./icons";
import { Watch } from "./store";
import { workspace } from "./workspace";

/** The project's files, grouped by folder. */
class FileList extends LitElement {
  static override properties = { adding: { state: true } };

  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-direction: column;
        min-width: 0;
        background: var(--raised);
      }

      h2 {
        margin: 0;
        padding-left: 4px;
        font-size: 11px;
        font-weight: 600;
        letter-spacing: 0.05em;
        text-transform: uppercase;
        color: var(--muted);
      }

      ul {
        flex: 1;
        margin: 0;
        padding: 6px;
        overflow: auto;
        list-style: none;
      }

      li {
        display: flex;
        align-items: center;
      }

      li.folder {
        gap: 7px;
        padding: 5px 8px;
        color: var(--muted);
      }

      li .name {
        flex: 1;
        justify-content: flex-start;
        min-width: 0;
        padding: 0 8px;
        gap: 7px;
      }

      li .name svg {
        color: var(--muted);
      }

      li .name span {
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }

      li[data-nested] .name {
        padding-left: 24px;
      }

      li .name[aria-current] {
        background: var(--selected);
        font-weight: 600;
      }

      li .name[data-broken] {
        color: var(--error);
      }

      li .icon {
        opacity: 0;
      }

      li:hover .icon,
      li .icon:focus-visible {
        opacity: 1;
      }

      form {
        padding: 6px 8px 0;
      }

      form input {
        width: 100%;
      }
    `,
  ];

  declare adding: boolean;

  constructor() {
    super();
    this.adding = false;
    new Watch(this, workspace.project.files, workspace.openFile, workspace.builds.state);
  }

  override render() {
    return html`
      <div class="bar">
        <h2>Files</h2>
        <span class="spacer"></span>
        <button class="icon" title="New file" aria-label="New file" @click=${this.#startAdding}>${icons.plus}</button>
      </div>
      ${
        this.adding
          ? html`<form @submit=${this.#add}>
            <input name="path" aria-label="Path of the new file" placeholder="src/Name.tsx" spellcheck="false"
              autocomplete="off" @keydown=${this.#cancelOnEscape} @blur=${this.#stopAdding} />
          </form>`
          : nothing
      }
      <ul aria-label="Files of the project">
        ${this.#rows()}
      </ul>
    `;
  }

  #rows() {
    let folder = "";
    return workspace.project.files.value.map((path) => {
      const slash = path.lastIndexOf("/");
      const parent = path.slice(0, Math.max(0, slash));
      const header = parent !== folder && parent ? html`<li class="folder">${icons.folder} ${parent}</li>` : nothing;
      folder = parent;
      return html`${header}${this.#row(path, path.slice(slash + 1), parent !== "")}`;
    });
  }

  #row(path: string, name: string, nested: boolean) {
    const open = path === workspace.openFile.value;
    const broken = workspace.builds.state.value.diagnostics.some(({ file }) => file === path);
    return html`<li ?data-nested=${nested}>
      <button class="name" aria-current=${open ? "true" : nothing} ?data-broken=${broken}
        @click=${() => workspace.openFile.set(path)}>
        ${icons.file}<span>${name}</span>${broken ? html`<span class="hidden">, has errors</span>` : nothing}
      </button>
      <button class="icon" title="Delete ${name}" aria-label="Delete ${path}"
        @click=${() => workspace.deleteFile(path)}>${icons.trash}</button>
    </li>`;
  }

  override focus(): void {
    this.renderRoot.querySelector<HTMLElement>("[aria-current]")?.focus();
  }

  readonly #startAdding = async () => {
    this.adding = true;
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLInputElement>("form input")?.focus();
  };

  readonly #stopAdding = () => {
    this.adding = false;
  };

  readonly #cancelOnEscape = (event: KeyboardEvent) => {
    if (event.key === "Escape") this.#stopAdding();
  };

  readonly #add = (event: SubmitEvent) => {
    event.preventDefault();
    const path = String(new FormData(event.target as HTMLFormElement).get("path"))
      .replace(/^[./]+/, "")
      .trim();
    this.#stopAdding();
    if (path && !path.endsWith("/") && !path.split("/").includes("..")) void workspace.createFile(path);
  };
}

customElements.define("pw-files", FileList);
